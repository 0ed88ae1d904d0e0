#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "base/fd.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "container/bundle/bundle.h"
#include "container/bundle/image_tool.h"
#include "container/bundle/light_host.h"
#include "container/bundle/machine_mounts.h"
#include "container/bundle/root_view.h"
#include "container/bundle/rootfs.h"
#include "container/cgroup.h"
#include "container/tool.h"
#include "job/host_settings.h"
#include "job/ml_paths.h"
#include "machine/housing/folders.h"
#include "machine/housing/housing.h"
#include "machine/housing/near_gpus.h"
#include "net/addresses/interfaces.h"
#include "os/supervise/reaper.h"

namespace muster::steward {
namespace {

using container::Process;

/// After SIGKILL, for processes that are blocked in a broken file system.
constexpr std::chrono::seconds end_deadline{5};

/// The variables that a light host's programs get from the steward's environment, which comes from
/// the node and its scheduler: the user's identity and the assigned accelerators. It is an allow
/// list, because a scheduler's own variables make mpirun and others believe that the scheduler
/// starts the ranks.
constexpr const char* inherited[] = {"HOME",
                                     "USER",
                                     "LOGNAME",
                                     "TZ",
                                     "CUDA_VISIBLE_DEVICES",
                                     "NVIDIA_VISIBLE_DEVICES",
                                     "ROCR_VISIBLE_DEVICES",
                                     "HIP_VISIBLE_DEVICES",
                                     "GPU_DEVICE_ORDINAL",
                                     "ZE_AFFINITY_MASK"};

std::string tmp_folder(const job::HostSpec& spec) {
  return container::disk_folder(spec) + "/tmp";
}

/// The folder for files of the program that opens the host's image: in the host's /tmp, so they are
/// removed with it.
constexpr const char* tool_folder = "/.muster-image";
std::string stream_file(const job::HostSpec& spec) {
  return container::bundle_folder(spec) + "/stream";
}
std::string variables_file(const job::HostSpec& spec) {
  return container::bundle_folder(spec) + "/variables";
}

bool has(const Env& env, const char* name) {
  const Env::const_iterator found = env.find(name);
  return found != env.end() && !found->second.empty() && found->second != "NoDevFiles";
}

/// "0,3": two GPUs, whatever the machine has. Slurm writes "NoDevFiles" if it assigned none.
std::vector<std::string> given_gpus(const Env& env) {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const Env::const_iterator found = env.find(name);
    if (found == env.end() || found->second.empty() || found->second == "NoDevFiles") continue;
    return split(found->second, ',');
  }
  return {};
}

/// Separate mounts and processes on the unchanged machine.
class LightHousing : public Housing {
 public:
  explicit LightHousing(HousingContext context)
      : context_(std::move(context)), spec_(context_.spec) {}

  Result<void> open() override {
    const bool entered = TRY(container::enter_light_mounts());
    ids_.rootless = entered || rootless_ids(context_.env) > 0;
    TRY(make_folders(tmp_folder(spec_)));
    if (::chmod(tmp_folder(spec_).c_str(), 01777) != 0) return fail_errno(tmp_folder(spec_));
    return {};
  }

  Result<void> build() override {
    program_ = TRY(own_program());
    memory_group_ = container::memory_cgroup(read_file("/proc/self/cgroup", 65536).value_or(""));
    killed_before_ = container::killed_for_memory(memory_group_);
    return container::make_layers(container::layers_folder(spec_));
  }

  const container::IdMap& ids() const override { return ids_; }

  Result<void> furnish(const std::vector<std::string>&) override {
    if (const std::string note = near_note(spec_.near, ""); !note.empty())
      context_.log("info", note);
    return spec_.spec.image ? plan_image() : Result<void>();
  }

  std::vector<Command> before_start() const override { return tool_.before; }

  /// In an image, the host's processes may be in another user namespace, where the descriptors of
  /// `sm init` are inaccessible, but a named pipe is accessible.
  Result<Pipe> make_stream() override {
    if (!spec_.spec.image) return make_pipe();
    const std::string path = stream_file(spec_);
    if (::mkfifo(path.c_str(), 0600) != 0) return fail_errno("cannot create " + path);
    Pipe pipe;
    pipe.read = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    pipe.write = Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!pipe.read || !pipe.write) return fail_errno("cannot open " + path);
    ::fcntl(pipe.read.get(), F_SETFL, 0);
    return pipe;
  }

  loop::Task<Result<Process>> start(container::ContainerStdio stdio) override {
    container::LightHost host = light_host();
    Result<Process> init = co_await container::start_light(context_.loop, std::move(host),
                                                           std::move(stdio), own_pids_);
    if (init && !own_pids_)
      context_.log("info",
                   "this machine does not allow process namespaces, so muster terminates processes "
                   "one by one");
    co_return init;
  }

  /// The scheduler's group contains only the host and its steward, apart from earlier processes.
  bool out_of_memory() const override {
    return container::killed_for_memory(memory_group_) > killed_before_;
  }

  std::vector<std::string> overruns(bool out_of_memory, bool lacked_files) const override {
    std::vector<std::string> lines;
    struct rlimit files {};
    if (out_of_memory)
      if (const std::optional<std::int64_t> limit = container::least_memory_limit(memory_group_))
        lines.push_back("reached its memory limit (" + size_text(*limit) + ")");
    if (lacked_files && ::getrlimit(RLIMIT_NOFILE, &files) == 0)
      lines.push_back("a process reached its limit of " + std::to_string(files.rlim_cur) +
                      " open files");
    return lines;
  }

  loop::Task<> end() override {
    supervise::Reaper reaper(context_.loop);
    const bool all = co_await reaper.kill_descendants(Clock::now() + end_deadline);
    if (!all)
      context_.not_undone(fail(Errc::timeout, "some of the host's processes survived SIGKILL"));
  }

  Result<void> check_disk() const override { return {}; }

  loop::Task<> close() override {
    const Result<void> removed = remove_tree(container::disk_folder(spec_));
    if (!removed) context_.not_undone(removed.error());
    co_return;
  }

 private:
  container::Facts facts() const {
    container::Facts facts;
    facts.processors = std::thread::hardware_concurrency();
    facts.is_near_gpus = is_near(spec_.near, "");
    return facts;
  }

  Env inherited_variables() const {
    Env env;
    for (const char* name : inherited) {
      const Env::const_iterator found = context_.env.find(name);
      if (found != context_.env.end()) env.insert(*found);
    }
    return env;
  }

  /// False if the image has its code in /opt/ml.
  bool brings_code() const {
    return !spec_.spec.source_folder.empty() ||
           spec_.spec.hyperparameters.contains("sagemaker_submit_directory");
  }

  /// The host's paths that are visible in the image: the job's, and /tmp.
  std::vector<std::string> shown_in_image() const {
    std::vector<std::string> shown = {"/tmp", "/run/muster"};
    if (brings_code()) shown.emplace_back(job::ml_path);
    for (const container::Bind& bind : container::light_binds(spec_, program_)) {
      const bool is_shown = container::is_in(bind.target, "/run/muster") ||
                            (brings_code() && container::is_in(bind.target, job::ml_path));
      if (!is_shown) shown.push_back(bind.target);
    }
    return shown;
  }

  Result<void> plan_image() {
    const job::Image& image = *spec_.spec.image;
    container::ToolPlace place{.program = TRY(container::find_tool(image.tool, context_.env)),
                               .outside = tmp_folder(spec_) + tool_folder,
                               .inside = std::string("/tmp") + tool_folder,
                               .shown = shown_in_image(),
                               .changes_root = !brings_code(),
                               .gives_gpus = has(context_.env, "CUDA_VISIBLE_DEVICES"),
                               .gives_rocm = has(context_.env, "ROCR_VISIBLE_DEVICES"),
                               .env = inherited_variables()};
    if (const Env::const_iterator path = context_.env.find("PATH"); path != context_.env.end())
      place.env.insert(*path);
    tool_ = TRY(container::plan_image_tool(image, place));
    TRY(make_folders(place.outside, 0700));
    TRY(write_file(place.outside + "/" + container::tool_script_name, container::tool_script));
    Env given = inherited_variables();
    for (const char* name : {"HOME", "USER", "LOGNAME"})
      given.erase(name);  // The image's own values count.
    return write_file(variables_file(spec_), container::host_variables(spec_, facts(), given),
                      0600);
  }

  /// The node's program is first; muster's programs follow inside the image.
  void put_into_image(container::LightHost& host) const {
    host.binds.push_back({stream_file(spec_), container::light_stream_path, false});
    host.binds.push_back({variables_file(spec_), job::host_variables_path});
    host.kept.push_back(spec_.spec.image->name);  // A file of the node, possibly in /tmp.
    host.command = container::first_process_in(spec_, facts(), tool_.enter);
  }

  container::LightHost light_host() const {
    container::LightHost host{.name = spec_.host,
                              .binds = container::light_binds(spec_, program_),
                              .tmp_folder = tmp_folder(spec_),
                              .kept = spec_.spec.read_only_binds,
                              .command = container::first_process(spec_, facts())};
    for (const std::string& folder : split(spec_.spec.path, ':'))
      if (folder.starts_with('/')) host.kept.push_back(folder);
    if (!spec_.spec.python.empty())
      for (std::string& folder : container::interpreter_folders(spec_.spec.python))
        host.kept.push_back(std::move(folder));
    for (const auto& [name, value] : inherited_variables())
      if (!spec_.spec.environment.contains(name)) host.command.env[name] = value;
    if (spec_.spec.image) put_into_image(host);
    return host;
  }

  HousingContext context_;
  const job::HostSpec& spec_;
  container::IdMap ids_;
  std::string program_;       ///< The running `sm`.
  std::string memory_group_;  ///< The control group that the host's memory counts in.
  long killed_before_ = 0;    ///< How many of its processes the kernel had killed.
  bool own_pids_ = true;
  container::ToolPlan tool_;  ///< For a host in an image.
};

}  // namespace

job::HostSpec on_this_machine(job::HostSpec spec, const Env& env) {
  if (spec.light && spec.devices.gpus.empty()) spec.devices.gpus = given_gpus(env);
  spec.near = find_near_gpus(spec);
  if ((!spec.light && !spec.in_step) || !spec.interface.empty()) return spec;
  const Result<std::vector<InterfaceAddress>> found = interface_addresses();
  if (!found) return spec;
  for (const InterfaceAddress& each : *found)
    if (each.address == job::own_address(spec)) spec.interface = each.interface;
  return spec;
}

std::unique_ptr<Housing> light_housing(HousingContext context) {
  return std::make_unique<LightHousing>(std::move(context));
}

}  // namespace muster::steward
