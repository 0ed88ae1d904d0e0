#include "container/bundle/bundle.h"

#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "container/bundle/collectives.h"
#include "container/bundle/rootfs.h"
#include "container/bundle/seccomp.h"
#include "container/cgroup.h"
#include "container/host_network/network.h"
#include "container/id_map.h"
#include "job/host_settings.h"
#include "job/machine_name.h"
#include "job/ml_paths.h"
#include "job/packages.h"

namespace muster::container {
namespace {

constexpr const char* sys_path = "/sys";
constexpr const char* key_path = "/run/muster/job.key";
constexpr const char* ca_path = "/run/muster/ca.pem";
constexpr const char* pip_conf_path = "/run/muster/pip.conf";
constexpr const char* one_machine_lost_after = "60";  // Seconds.
/// Source: sched-bwc of the kernel; its own default, and Docker's.
constexpr std::int64_t cpu_period_us = 100000;
/// Hosts are killed first when the machine's memory runs out. Source: proc(5), oom_score_adj.
constexpr int oom_score = 500;
/// The folder of pip's user installs, for images that the user cannot change.
constexpr const char* user_packages_folder = "/tmp/.muster-image/python";
constexpr const char* default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The capabilities that root normally has in a container and that installers need; none of them
/// affects the machine.
const char* const capabilities[] = {"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",
                                    "CAP_FSETID", "CAP_KILL",         "CAP_NET_BIND_SERVICE",
                                    "CAP_SETGID", "CAP_SETUID"};
/// Also needed by an image's own sshd, which moves unauthenticated connections to an empty root.
constexpr const char* image_capability = "CAP_SYS_CHROOT";

/// Files that reveal facts about the whole machine or the kernel's memory only to root, which a
/// host's root is: those that Docker masks, and similar ones. Paths that a kernel does not have are
/// ignored.
const char* const masked_kernel_paths[] = {
    "/proc/acpi",          "/proc/allocinfo",     "/proc/asound",
    "/proc/dynamic_debug", "/proc/interrupts",    "/proc/iomem",
    "/proc/ioports",       "/proc/kallsyms",      "/proc/kcore",
    "/proc/key-users",     "/proc/keys",          "/proc/kmsg",
    "/proc/kpagecgroup",   "/proc/kpagecount",    "/proc/kpageflags",
    "/proc/latency_stats", "/proc/modules",       "/proc/mtrr",
    "/proc/pagetypeinfo",  "/proc/timer_list",    "/proc/timer_stats",
    "/proc/sched_debug",   "/proc/schedstat",     "/proc/scsi",
    "/proc/slabinfo",      "/proc/vmallocinfo",   "/proc/vmcore",
    "/sys/firmware",       "/sys/fs/bpf",         "/sys/fs/pstore",
    "/sys/kernel/debug",   "/sys/kernel/notes",   "/sys/kernel/security",
    "/sys/kernel/slab",    "/sys/kernel/tracing", "/sys/devices/virtual/powercap"};
const char* const readonly_kernel_paths[] = {"/proc/bus",      "/proc/fs",  "/proc/irq",
                                             "/proc/pressure", "/proc/sys", "/proc/sysrq-trigger"};

/// The group tty in Debian and most other distributions.
constexpr std::uint32_t terminal_group = 5;

/// False for an id that does not map to a user in the host's user namespace.
bool has_id(const Facts& facts, std::uint32_t id) {
  if (facts.user_namespace.empty()) return true;
  return std::any_of(facts.ids.begin(), facts.ids.end(), [id](const IdExtent& extent) {
    return id >= extent.inside && id - extent.inside < extent.count;
  });
}

template <std::size_t count>
Json list(const char* const (&items)[count]) {
  Json json = Json::array();
  for (const char* item : items) json.push_back(item);
  return json;
}

/// The name of the network interface in all hosts of the job.
std::string interface_of(const job::HostSpec& spec) {
  if (!spec.interface.empty()) return spec.interface;
  return spec.spec.network == job::Network::host ? "lo" : "eth0";
}

Json mount(const std::string& destination, const char* type, const char* source,
           std::vector<std::string> options) {
  return Json{
      {"destination", destination}, {"type", type}, {"source", source}, {"options", options}};
}

/// An ordinary user can bind-mount only a complete mount tree.
Json bind_mount(const Bind& bind, std::size_t number, bool rootless) {
  std::vector<std::string> options = {bind.bound || rootless ? "rbind" : "bind", "rprivate",
                                      bind.read_only ? "ro" : "rw", "nosuid"};
  options.emplace_back(bind.is_device ? "noexec" : "nodev");
  if (bind.target == sys_path) options.emplace_back("noexec");  // As on the machine.
  return mount(bind.target, "bind", shown_place(number).c_str(), options);
}

/// True if the user's own program is started instead of `train`.
bool has_own_entry(const job::HostSpec& spec, const Facts& facts) {
  return facts.args.empty() && (spec.spec.image || !spec.spec.entrypoint.empty());
}

std::string folder_of_programs(const job::HostSpec& spec) {
  return spec.spec.image || spec.light ? job::own_programs_path : programs_folder;
}

Json held_capabilities(const job::HostSpec& spec) {
  Json held = list(capabilities);
  if (job::shares_network(spec)) std::erase(held.get_ref<Json::array_t&>(), "CAP_NET_BIND_SERVICE");
  if (spec.spec.image) held.push_back(image_capability);
  return held;
}

std::string sm_path(const job::HostSpec& spec) {
  return folder_of_programs(spec) + "/sm";
}
std::string train_path(const job::HostSpec& spec) {
  return folder_of_programs(spec) + "/train";
}

/// File systems in memory that replace folders of the machine; hosts with an image use the image's
/// folders.
void add_own_places(const job::HostSpec& spec, const HostLimits& limits, Json& all) {
  const auto size = [](std::int64_t bytes) { return "size=" + std::to_string(bytes); };
  if (spec.spec.image) {
    all.push_back(
        mount("/run/muster", "tmpfs", "tmpfs", {"nosuid", "nodev", "ro", "mode=755", "size=64k"}));
    return;
  }
  all.push_back(
      mount("/tmp", "tmpfs", "tmpfs", {"nosuid", "nodev", "mode=1777", size(limits.tmp_bytes)}));
  all.push_back(
      mount("/run", "tmpfs", "tmpfs", {"nosuid", "nodev", "mode=755", size(limits.run_bytes)}));
}

Json mounts(const job::HostSpec& spec, const Facts& facts) {
  const auto size = [](std::int64_t bytes) { return "size=" + std::to_string(bytes); };
  const HostLimits& limits = facts.limits;
  std::vector<std::string> terminals = {"nosuid", "noexec", "newinstance", "ptmxmode=0666",
                                        "mode=0620"};
  if (has_id(facts, terminal_group)) terminals.push_back("gid=" + std::to_string(terminal_group));
  Json all = Json::array({
      mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=64k"}),
      mount("/dev/pts", "devpts", "devpts", terminals),
      mount("/dev/shm", "tmpfs", "shm",
            {"nosuid", "noexec", "nodev", "mode=1777", size(limits.shm_bytes)}),
      mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
  });
  // A host in the machine's network does not own this network, so it can only bind-mount the
  // machine's sysfs.
  if (!job::shares_network(spec))
    all.push_back(mount(sys_path, "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
  add_own_places(spec, limits, all);
  std::size_t number = 0;
  for (const Bind& bind : binds(spec, facts))
    all.push_back(bind_mount(bind, number++, facts.rootless));
  return all;
}

/// The first process, without what it runs. All others inherit its place.
Args init_line(const job::HostSpec& spec, const Facts& facts) {
  Args words = {sm_path(spec), "init", "--lifeline", std::to_string(lifeline_fd)};
  if (!facts.is_near_gpus) return words;
  // A set of processors that are the host's own is its control group's matter.
  if (facts.cpus.empty()) words.insert(words.end(), {"--cpus", spec.near.cpus});
  words.insert(words.end(), {"--memory-nodes", spec.near.nodes});
  return words;
}

/// The program that PID 1 starts: the job's entry point, the image's entry point, or `train`.
Args host_command(const job::HostSpec& spec) {
  if (spec.spec.image)
    return job::command_of(*spec.spec.image, spec.spec.entrypoint, spec.spec.arguments);
  Args command = spec.spec.entrypoint;
  if (command.empty()) command.push_back(train_path(spec));
  command.insert(command.end(), spec.spec.arguments.begin(), spec.spec.arguments.end());
  return command;
}

std::string working_folder(const job::HostSpec& spec) {
  if (!spec.spec.image) return job::code_path;
  return spec.spec.image->folder.empty() ? "/" : spec.spec.image->folder;
}

Json limits_of_process(const job::HostSpec& spec, const Facts& facts) {
  Json list = Json::array({Json{{"type", "RLIMIT_NOFILE"},
                                {"soft", open_files(facts.open_files_max)},
                                {"hard", facts.open_files_max}},
                           Json{{"type", "RLIMIT_CORE"}, {"soft", 0}, {"hard", 0}}});
  // Replaces the limit of a control group, because each user namespace counts its own processes.
  if (facts.rootless)
    list.push_back({{"type", "RLIMIT_NPROC"},
                    {"soft", facts.limits.processes},
                    {"hard", facts.limits.processes}});
  if (spec.devices.locks_memory && !facts.rootless)
    list.push_back({{"type", "RLIMIT_MEMLOCK"}, {"soft", RLIM_INFINITY}, {"hard", RLIM_INFINITY}});
  return list;
}

/// A host's CPU limit as a number of processors for programs.
std::int64_t cpus_of(std::int64_t millis) {
  return (millis + 999) / 1000;
}

/// The number of processes that MPI starts on a host; 1 without MPI.
std::int64_t processes_of(const job::Spec& spec) {
  const auto found = spec.hyperparameters.find("sagemaker_mpi_num_of_processes_per_host");
  if (found == spec.hyperparameters.end()) return 1;
  std::string text = found->second;  // Some SDKs send numbers as quoted strings.
  std::erase(text, '"');
  return std::max<std::int64_t>(parse_integer(text).value_or(1), 1);
}

/// OpenMP starts a thread for each processor that it sees, in each process; with a CPU limit, these
/// threads would only wait for each other. A single process with its own processors sees the right
/// number without this.
void limit_threads(const job::HostSpec& spec, const Facts& facts, Env& env) {
  const std::int64_t millis = job::cpu_millis_of(spec.spec, spec.host);
  const std::int64_t processes = processes_of(spec.spec);
  if (millis == 0 || (!facts.cpus.empty() && processes == 1)) return;
  const std::int64_t cpus = std::min(cpus_of(millis), facts.processors);
  const std::int64_t threads = std::max<std::int64_t>(cpus / processes, 1);
  env.try_emplace("OMP_NUM_THREADS", std::to_string(threads));
}

Json process(const job::HostSpec& spec, const Facts& facts) {
  const Command first = first_process(spec, facts);
  Json env = Json::array();
  for (const auto& [name, value] : first.env) env.push_back(name + "=" + value);
  const Json held = held_capabilities(spec);
  // As in other engines, a user that the image names has no capabilities, and neither do its child
  // processes.
  const Json used = facts.user.uid == 0 ? held : Json::array();
  return Json{{"terminal", false},
              {"user", {{"uid", facts.user.uid}, {"gid", facts.user.gid}}},
              {"args", first.argv},
              {"cwd", first.cwd},
              {"env", env},
              {"capabilities", {{"bounding", held}, {"effective", used}, {"permitted", used}}},
              {"noNewPrivileges", true},
              {"oomScoreAdj", oom_score},
              {"rlimits", limits_of_process(spec, facts)}};
}

/// Only the host's own devices; the runtime adds the standard ones, such as /dev/null.
Json allowed_devices(const job::HostSpec& spec) {
  Json list = Json::array({Json{{"allow", false}, {"access", "rwm"}}});
  for (const job::DeviceNode& node : spec.devices.nodes)
    list.push_back({{"allow", true},
                    {"type", "c"},
                    {"major", node.major},
                    {"minor", node.minor},
                    {"access", "rw"}});
  return list;
}

Json resources(const job::HostSpec& spec, const Facts& facts) {
  Json json{{"devices", allowed_devices(spec)}};
  if (facts.rootless) return json;
  json["pids"] = {{"limit", facts.limits.processes}};
  const std::int64_t memory = job::memory_of(spec.spec, spec.host);
  const std::int64_t millis = job::cpu_millis_of(spec.spec, spec.host);
  if (memory > 0) json["memory"] = {{"limit", memory}, {"swap", memory}};
  if (!facts.cpus.empty())
    json["cpu"] = {{"cpus", facts.cpus}};
  else if (millis > 0)
    json["cpu"] = {{"quota", millis * cpu_period_us / 1000}, {"period", cpu_period_us}};
  return json;
}

/// Files that the host's root creates in a bound folder belong to a user of the machine. A setuid
/// file would give that user's rights to every user who runs it.
bool may_set_ids(const job::HostSpec& spec) {
  return std::none_of(spec.spec.bound.begin(), spec.spec.bound.end(),
                      [](const job::BoundPath& bound) { return bound.writable; });
}

Json linux_part(const job::HostSpec& spec, const Facts& facts) {
  Json masked = list(masked_kernel_paths);
  for (const std::string& path : facts.masks) masked.push_back(path);
  Json namespaces =
      Json::array({Json{{"type", "pid"}}, Json{{"type", "ipc"}}, Json{{"type", "uts"}},
                   Json{{"type", "mount"}}, Json{{"type", "cgroup"}}});
  Json net{{"type", "network"}};
  if (!facts.network_namespace.empty()) net["path"] = facts.network_namespace;
  if (!job::shares_network(spec)) namespaces.push_back(std::move(net));
  Json linux{{"resources", resources(spec, facts)},
             {"namespaces", namespaces},
             {"rootfsPropagation", "private"},
             {"maskedPaths", masked},
             {"readonlyPaths", list(readonly_kernel_paths)},
             {"seccomp", seccomp_profile(may_set_ids(spec))}};
  // If no group can be created, the runtime continues without one, unless the bundle names one. A
  // path that does not begin with '/' is below the group of the runtime's caller.
  if (!facts.rootless)
    linux["cgroupsPath"] = spec.in_step ? step_cgroup_name(spec) : cgroup_path(spec);
  if (facts.user_namespace.empty()) return linux;
  Json ids = Json::array();
  for (const IdExtent& extent : facts.ids)
    ids.push_back(
        {{"containerID", extent.inside}, {"hostID", extent.outside}, {"size", extent.count}});
  linux["namespaces"].push_back(Json{{"type", "user"}, {"path", facts.user_namespace}});
  linux["uidMappings"] = ids;
  linux["gidMappings"] = ids;
  return linux;
}

Json group_json(const job::HostGroup& group, const std::vector<std::string>& hosts) {
  return Json{{"instance_group_name", group.name}, {"instance_type", group.type}, {"hosts", hosts}};
}

/// Seconds as a decimal number: 1500 ms is "1.5".
std::string seconds_text(std::chrono::milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  const std::int64_t rest = time.count() % 1000;
  if (rest == 0) return text;
  std::string digits = std::to_string(1000 + rest).substr(1);
  while (digits.back() == '0') digits.pop_back();
  return text + "." + digits;
}

bool has_driver_libraries(const job::HostSpec& spec) {
  return spec.spec.image &&
         std::any_of(spec.devices.mounts.begin(), spec.devices.mounts.end(),
                     [](const job::DeviceMount& mount) {
                       return mount.inside.starts_with(job::driver_libraries_path);
                     });
}

/// The lines of a hosts(5) file that do not name a host of the job.
std::string without_hosts(const std::string& file, const job::HostSpec& spec) {
  std::string kept;
  for (const std::string& line : split(file, '\n')) {
    const std::vector<std::string> words = split_words(line);
    const bool names_one = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return std::any_of(spec.hosts.begin(), spec.hosts.end(),
                         [&](const job::HostAddress& host) { return host.name == word; });
    });
    if (!words.empty() && !names_one) kept += line + "\n";
  }
  return kept;
}

/// Appended, so that the image's own libraries take precedence.
void append_folder(std::string& folders, const std::string& folder) {
  folders += folders.empty() ? folder : ":" + folder;
}

}  // namespace

std::string disk_folder(const job::HostSpec& spec) {
  return spec.host_folder + "/disk";
}
std::string layers_folder(const job::HostSpec& spec) {
  return disk_folder(spec) + "/layers";
}
std::string ml_folder(const job::HostSpec& spec) {
  return disk_folder(spec) + "/ml";
}
std::string bundle_folder(const job::HostSpec& spec) {
  return spec.host_folder + "/bundle";
}
std::string user_key_file(const job::HostSpec& spec) {
  return bundle_folder(spec) + "/job.key";
}
std::string host_pip_conf(const job::HostSpec& spec) {
  return bundle_folder(spec) + "/pip.conf";
}
std::string container_id(const job::HostSpec& spec) {
  return job::machine_name(spec.spec.name, spec.job_folder) + "-" + spec.host;
}
std::string job_cgroup_path(const job::HostSpec& spec) {
  return jobs_cgroup + ("/" + job::machine_name(spec.spec.name, spec.job_folder));
}
std::string cgroup_path(const job::HostSpec& spec) {
  return job_cgroup_path(spec) + "/" + spec.host;
}

std::string step_cgroup_name(const job::HostSpec& spec) {
  return "muster-" + container_id(spec);
}

std::vector<std::string> ml_places(const job::HostSpec& spec, const Facts& facts) {
  if (!spec.spec.image) return {""};
  // An image may contain code in /opt/ml/code, and other files next to SageMaker's mounts.
  std::vector<std::string> places = {"/input", "/model", "/output"};
  const bool staged =
      std::find(facts.staged.begin(), facts.staged.end(), "/code") != facts.staged.end();
  if (!spec.spec.source_folder.empty() && !staged) places.emplace_back("/code");
  if (job::keeps_checkpoints(spec.spec)) places.emplace_back("/checkpoints");
  return places;
}

std::vector<Bind> binds(const job::HostSpec& spec, const Facts& facts) {
  std::vector<Bind> all;
  if (job::shares_network(spec)) all.push_back({sys_path, sys_path});
  for (const std::string& path : facts.binds) all.push_back({path, path});
  const std::string etc = bundle_folder(spec);
  if (has_own_entry(spec, facts)) all.push_back({etc + "/settings", job::host_settings_path});
  for (const char* name : {"/hosts", "/hostname", "/resolv.conf"})
    all.push_back({etc + name, std::string("/etc") + name});
  const std::string ml = ml_folder(spec);
  for (const std::string& place : ml_places(spec, facts))
    all.push_back({ml + place, job::ml_path + place, false});
  for (const std::string& name : facts.staged)
    all.push_back({ml + name, job::ml_path + name, false, false});
  if (!spec.spec.checkpoint_url.empty() && spec.spec.checkpoint_path != job::checkpoints_path)
    all.push_back({ml + "/checkpoints", spec.spec.checkpoint_path, false});
  for (const std::string& path : {sm_path(spec), train_path(spec)})
    all.push_back({facts.program, path});
  all.push_back({facts.user.uid == 0 ? spec.key_file : user_key_file(spec), key_path});
  all.push_back({etc + "/python.zip", job::packages_path});
  if (!spec.spec.s3.ca_file.empty()) all.push_back({spec.spec.s3.ca_file, ca_path});
  if (!spec.spec.pip_conf.empty()) all.push_back({host_pip_conf(spec), pip_conf_path});
  for (const job::DeviceMount& mount : spec.devices.mounts)
    if (spec.spec.image || !mount.image_only) all.push_back({mount.outside, mount.inside});
  for (const job::DeviceNode& node : spec.devices.nodes)
    all.push_back(
        {.source = node.outside, .target = node.inside, .translated = false, .is_device = true});
  for (const job::BoundPath& bound : spec.spec.bound)
    all.push_back({bound.outside, bound.inside, !bound.writable, true, bound});
  return all;
}

std::vector<Bind> light_binds(const job::HostSpec& spec, const std::string& program) {
  Facts facts;
  facts.program = program;
  std::vector<Bind> all = binds(spec, facts);
  // The host uses the machine's own resolver, and /etc/hostname is only read at boot.
  std::erase_if(all, [](const Bind& bind) {
    return bind.target == "/etc/hostname" || bind.target == "/etc/resolv.conf" ||
           bind.target == sys_path;
  });
  return all;
}

Command first_process(const job::HostSpec& spec, const Facts& facts) {
  Command command{.argv = facts.args, .env = host_environment(spec), .cwd = working_folder(spec)};
  limit_threads(spec, facts, command.env);
  if (spec.spec.image && !spec.spec.image->environment.contains("HOME"))
    command.env["HOME"] = facts.user.home;
  // The user's own program does not get MUSTER_* variables; operators that it starts read them from
  // the file.
  if (has_own_entry(spec, facts)) job::take_host_settings(command.env);
  if (!command.argv.empty()) return command;
  command.argv = init_line(spec, facts);
  // `train` stops its ranks itself; other programs may not forward a stop signal.
  if (has_own_entry(spec, facts)) command.argv.push_back("--everyone");
  command.argv.push_back("--");
  const Args program = host_command(spec);
  command.argv.insert(command.argv.end(), program.begin(), program.end());
  return command;
}

Command first_process_in(const job::HostSpec& spec, const Facts& facts, Command enter) {
  Command command = std::move(enter);
  Args argv = init_line(spec, facts);
  argv.emplace_back("--");
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  argv.insert(argv.end(),
              {sm_path(spec), "init", "--variables", job::host_variables_path, "--everyone", "--"});
  const Args program = host_command(spec);
  argv.insert(argv.end(), program.begin(), program.end());
  command.argv = std::move(argv);
  return command;
}

std::string host_variables(const job::HostSpec& spec, const Facts& facts, const Env& given) {
  Env env = given;
  // Separate from the node's user packages, because only the image's own user can install packages
  // in the image.
  env["PYTHONUSERBASE"] = user_packages_folder;
  for (const auto& [name, value] : first_process(spec, facts).env) env[name] = value;
  // Both come from the image, unless the job sets them.
  for (const char* name : {"PATH", "HOME"}) {
    env.erase(name);
    const Env::const_iterator own = spec.spec.environment.find(name);
    if (own != spec.spec.environment.end()) env.insert(*own);
  }
  return job::variables_text(env);
}

std::string bundle_config(const job::HostSpec& spec, const Facts& facts) {
  return to_text(Json{{"ociVersion", "1.0.2"},
                      {"process", process(spec, facts)},
                      {"root", {{"path", host_root()}, {"readonly", false}}},
                      {"hostname", spec.host},
                      {"mounts", mounts(spec, facts)},
                      {"linux", linux_part(spec, facts)}});
}

std::map<std::string, std::string> etc_files(const job::HostSpec& spec,
                                             const std::string& machine_hosts) {
  std::string hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
  for (const job::HostAddress& host : spec.hosts) hosts += host.address + " " + host.name + "\n";
  hosts += without_hosts(machine_hosts, spec);
  const Result<std::optional<Doorway>> s3 = doorway(spec.spec.s3);
  if (!spec.light && !spec.in_step && s3 && *s3 && !(*s3)->name.empty())
    hosts += (*s3)->address + " " + (*s3)->name + "\n";
  // The job's network has no outside connection. Without a name server, unknown names fail
  // immediately.
  return {{"hosts", hosts},
          {"hostname", spec.host + "\n"},
          {"resolv.conf", "options timeout:1 attempts:1\n"}};
}

std::map<std::string, std::string> config_files(const job::HostSpec& spec) {
  std::vector<std::string> names;
  for (const job::HostAddress& host : spec.hosts) names.push_back(host.name);
  std::sort(names.begin(), names.end());
  const job::HostGroup alike{"homogeneousCluster", spec.spec.instance_type};
  const job::HostGroup* const own = job::group_of(spec.spec, spec.host);
  const job::HostGroup& current = own == nullptr ? alike : *own;
  Json groups = Json::array();
  for (const job::HostGroup& group : spec.spec.groups)
    groups.push_back(group_json(group, job::hosts_of(spec.spec, group)));
  if (own == nullptr) groups.push_back(group_json(alike, names));
  const Json resources_json{
      {"current_host", spec.host},          {"current_instance_type", current.type},
      {"current_group_name", current.name}, {"hosts", names},
      {"instance_groups", groups},          {"network_interface_name", interface_of(spec)}};
  Json input = Json::object();
  for (const job::InputChannel& channel : spec.spec.input) {
    if (!job::has_channel(spec.spec, spec.host, channel)) continue;
    Json& told = input[channel.name];
    told = {{"TrainingInputMode", "File"},
            {"S3DistributionType", channel.s3.sharded ? "ShardedByS3Key" : "FullyReplicated"},
            {"RecordWrapperType", channel.record_wrapper}};
    if (!channel.content_type.empty()) told["ContentType"] = channel.content_type;
  }
  return {{"resourceconfig.json", to_text(resources_json)},
          {"inputdataconfig.json", to_text(input)},
          {"hyperparameters.json", to_text(Json(spec.spec.hyperparameters))}};
}

Env host_environment(const job::HostSpec& spec) {
  Env env;
  if (spec.spec.image)
    env = spec.spec.image->environment;
  else
    env = {{"HOME", "/root"}, {"LANG", "C.UTF-8"}, {"PATH", spec.spec.path}};
  if (env["PATH"].empty()) env["PATH"] = default_path;
  for (const auto& [name, value] : spec.devices.environment) env[name] = value;
  const Env told{
      {"TRAINING_JOB_NAME", spec.spec.name},
      {"TRAINING_JOB_ARN", "arn:aws:sagemaker:local:000000000000:training-job/" + spec.spec.name},
      {"CURRENT_HOST", spec.host},
      {"DMLC_INTERFACE", interface_of(spec)},
      // A host has only the root user, so the job's own mpirun must be allowed to run as root.
      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
      {"MUSTER_STOP_DEADLINE", seconds_text(spec.spec.grace)}};
  for (const auto& [name, value] : told) env[name] = value;
  // The network between hosts on one machine cannot fail, and stewards report when a host ends. A
  // silent host is therefore alive, but its `train` is waiting for a processor.
  if (!spec.light && !spec.in_step) env["MUSTER_LOST_AFTER"] = one_machine_lost_after;
  if (const std::int64_t millis = job::cpu_millis_of(spec.spec, spec.host); millis > 0)
    env["MUSTER_NUM_CPUS"] = std::to_string(cpus_of(millis));
  set_collectives(spec, interface_of(spec), env);
  if (!spec.devices.gpus.empty()) env["MUSTER_NUM_GPUS"] = std::to_string(spec.devices.gpus.size());
  if (!spec.near.ranks.empty()) env[job::numa_variable] = spec.near.ranks;
  if (!spec.spec.s3.ca_file.empty()) env["AWS_CA_BUNDLE"] = ca_path;
  if (!spec.spec.pip_conf.empty()) env["PIP_CONFIG_FILE"] = pip_conf_path;
  for (const auto& [name, value] : spec.spec.environment) env[name] = value;
  env["HOSTNAME"] = spec.host;
  env["MUSTER_STEWARD_FD"] = std::to_string(steward_stream_fd);
  env["MUSTER_JOB_KEY_FILE"] = key_path;
  if (spec.rollcall_port != job::HostSpec{}.rollcall_port)
    env["MUSTER_ROLLCALL_PORT"] = std::to_string(spec.rollcall_port);
  env.erase("MUSTER_JOB_KEY");
  env.erase("MUSTER_SOCKET");
  if (has_driver_libraries(spec)) append_folder(env["LD_LIBRARY_PATH"], job::driver_libraries_path);
  // Programs that look for `sm` must find it whatever PATH the submitter had.
  const std::string programs = folder_of_programs(spec);
  // On a light host's machine another `sm` may be installed.
  if (spec.light) env["PATH"] = programs + ":" + env["PATH"];
  const std::vector<std::string> folders = split(env["PATH"], ':');
  if (std::find(folders.begin(), folders.end(), programs) == folders.end())
    env["PATH"] += env["PATH"].empty() ? programs : ":" + programs;
  return env;
}

std::string host_settings(const job::HostSpec& spec) {
  Env env = host_environment(spec);
  // Programs open the stream through init's descriptor, because a program in between may have
  // closed its own, or may use the number for another file.
  env["MUSTER_STEWARD_FD"] =
      spec.light ? light_stream_path : "/proc/1/fd/" + std::to_string(steward_stream_fd);
  return job::take_host_settings(env);
}

}  // namespace muster::container
