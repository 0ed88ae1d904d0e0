// HostRun's way from nothing to a running container.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/json.h"
#include "base/rootless.h"
#include "container/bound_mount.h"
#include "container/cgroup.h"
#include "container/outside.h"
#include "container/rootfs.h"
#include "job/ml_paths.h"
#include "steward/bring.h"
#include "steward/checkpoint_folder.h"
#include "steward/folders.h"
#include "steward/host_run.h"
#include "steward/s3_access.h"
#include "steward/staging.h"

namespace muster::steward {
namespace {

using container::Process;

constexpr std::size_t stream_bytes = 1u << 20;
constexpr std::size_t accounts_bytes_max = 1u << 20;  ///< An image's passwd and group files.
/// Where a host asks for names, inside of its own network.
constexpr const char* name_service = "127.0.0.1";
constexpr std::uint16_t name_port = 53;

/// The host as a server on this machine sees it: its own address in the loopback's network.
std::string outer_address(const job::HostSpec& spec) {
  const std::string own = job::machine_address(spec);
  return "127" + own.substr(std::min(own.find('.'), own.size()));
}

const job::DeviceNode& node_of(const job::HostDevices& devices, const std::string& inside) {
  const auto found = std::find_if(devices.nodes.begin(), devices.nodes.end(),
                                  [&](const auto& node) { return node.inside == inside; });
  CHECK_THAT(found != devices.nodes.end(), "a bind of a device is one of the host's");
  return *found;
}

}  // namespace

loop::Task<Result<void>> HostRun::still_wanted() {
  loop::Timer moment(loop_);
  co_await moment.after(Duration::zero());
  if (unwanted_) co_return fail(Errc::closed, "nobody wants this host any more");
  if (stopped_ || kill_) co_return fail(Errc::closed, "stopped before it was started");
  if (journal_error_) co_return *journal_error_;
  co_return Result<void>();
}

loop::Task<Result<void>> HostRun::prepare() {
  Result<container::Runtime> runtime = container::Runtime::find(env_);
  if (!runtime) co_return runtime.error();
  runtime_ = *std::move(runtime);
  if (spec_.host == job::host_names(spec_.spec.instance_count).front())
    for (const std::string& note : spec_.spec.notes) log("note", note);
  if (Result<void> opened = open_disk(); !opened) co_return opened.error();
  if (Result<void> made = make_host_files(spec_); !made) co_return made.error();
  if (Result<void> done = mount_and_connect(); !done) co_return done.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  enter(job::Phase::downloading);
  if (Result<void> brought = co_await bring_inputs(); !brought) co_return brought.error();
  if (Result<void> staged = co_await stage_inputs(); !staged) co_return staged.error();
  if (Result<void> kept = co_await keep_checkpoints(); !kept) co_return kept.error();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  co_return co_await start_container();
}

Result<void> HostRun::mount_and_connect() {
  machine_ = TRY(container::read_machine(spec_, env_));
  Result<void> made;
  const std::int64_t own_ids = rootless_ids(env_);
  ids_.rootless = own_ids > 0;
  if (ids_.rootless)
    TRY(put_together(container::ids_of_rootless(own_ids)));
  else if (spec_.first_id != 0)
    made = put_together(container::ids_from(static_cast<std::uint32_t>(spec_.first_id)));
  if (!made) {
    log("warning", "no user namespace: root of this host is root of the machine by number (" +
                       made.error().text + ")");
    ids_ = {};
    namespaces_ = {};
    container::unmount_host_place();
    container::unmount(container::layers_folder(spec_));
    TRY(remove_tree(container::layers_folder(spec_)));
    TRY(remove_tree(container::root_folder(spec_)));
  }
  if (!namespaces_.user) TRY(put_together({}));
  if (spec_.spec.network == job::Network::host)
    return write_file(container::bundle_folder(spec_) + "/resolv.conf",
                      read_file("/etc/resolv.conf").value_or(""));
  network_.emplace(
      TRY(container::HostNetwork::open(spec_, std::move(namespaces_.network), ids_, env_)));
  follow_tunnel();
  TRY(open_relay());
  return open_name_service();
}

/// Says how what hosts send each other is encrypted, once for the job.
void HostRun::follow_tunnel() {
  const bool is_first = spec_.host == job::host_names(spec_.spec.instance_count).front();
  if (is_first && network_->cipher())
    log("note",
        "traffic between hosts: encrypted by " + container::cipher_words(*network_->cipher()));
  if (is_first && spec_.spec.encrypted && !network_->cipher())
    log("note", "traffic between hosts: there is none to encrypt, the job has one host");
  if (network_->tunnel()) tasks_.start(watch_tunnel());
}

/// The host's root, with these ids, where kernel and file systems can do that.
Result<void> HostRun::put_together(const std::vector<container::IdExtent>& ids) {
  const std::string layers = container::layers_folder(spec_);
  TRY(container::mount_host_place());
  TRY(container::make_layers(layers));
  namespaces_ = TRY(container::open_namespaces(ids));
  if (!ids.empty() && !ids_.rootless) ids_ = {namespaces_.user.get(), ids.front().outside};
  if (!ids_.rootless) TRY(container::show_machine(ids_));
  if (spec_.spec.image) {
    TRY(keep_image());
    TRY(container::mount_image_root(spec_.spec.image->layers, layers + "/root", ids_));
    return become_user();
  }
  for (const std::string& line : TRY(container::mount_host_root(
           machine_.view, layers + "/root", container::root_folder(spec_), ids_)))
    log("warning", line);
  return {};
}

/// The layers stay while this host does, also when whoever started the job is gone.
Result<void> HostRun::keep_image() {
  const std::string& path = spec_.spec.image->lease;
  if (path.empty()) return {};
  image_lease_ = Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  while (!image_lease_ || ::flock(image_lease_.get(), LOCK_SH) != 0)
    if (!image_lease_ || errno != EINTR) return fail_errno(path);
  return {};
}

/// Finds the image's USER, and gives it what it has to write.
Result<void> HostRun::become_user() {
  const auto file = [](const char* path) {
    return container::read_in_root(container::host_root(), path, accounts_bytes_max).value_or("");
  };
  user_ = TRY(job::user_of(spec_.spec.image->user, file("etc/passwd"), file("etc/group")));
  const std::int64_t most = rootless_ids(env_);
  if (ids_.rootless && std::max<std::int64_t>(user_.uid, user_.gid) >= most)
    return fail(Errc::unsupported, "the image runs as user " + std::to_string(user_.uid) +
                                       ", and without root you have " + std::to_string(most) +
                                       " here: subordinate ids give more");
  return give_to_user(spec_, user_);
}

/// The job's S3 is there inside of the host, too.
Result<void> HostRun::open_relay() {
  const std::optional<container::Doorway> way = TRY(container::doorway(spec_.spec.s3));
  if (!way) return {};
  relay_ = loop::Relay::open(loop_, TRY(network_->listen(way->address, way->port)),
                             {.host = way->host, .port = way->port, .from = outer_address(spec_)});
  return {};
}

/// Names are the machine's to look up: its own resolver may be one that only it reaches.
Result<void> HostRun::open_name_service() {
  if (!network_->why_not().empty())
    log("warning", "the job reaches nothing outside: " + network_->why_not() +
                       "; --network none asks for that without this line");
  if (!network_->leads_outside()) return {};
  const std::string resolv_conf = read_file("/etc/resolv.conf").value_or("");
  const std::vector<std::string> servers = container::name_servers(resolv_conf);
  datagrams_ = loop::DatagramRelay::open(
      loop_, TRY(network_->take_datagrams(name_service, name_port)), {servers, name_port});
  long_answers_ = loop::Relay::open(loop_, TRY(network_->listen(name_service, name_port)),
                                    {.host = servers.front(), .port = name_port});
  return write_file(container::bundle_folder(spec_) + "/resolv.conf",
                    container::host_resolv_conf(resolv_conf, name_service));
}

/// What S3 has for this host. A host that is no longer wanted does not wait for it: a server that
/// is silent is asked again and again.
loop::Task<Result<void>> HostRun::bring_inputs() {
  if (!needs_s3(spec_.spec)) co_return Result<void>();
  Result<std::unique_ptr<s3client::S3Client>> client = open_s3(loop_, spec_.spec.s3, env_);
  if (!client) co_return client.error();
  s3_ = *std::move(client);
  s3client::FetchStop stop(loop_);
  std::optional<Result<void>> done;
  loop::Tasks bringing(loop_);
  bringing.start(bring_all(stop, done));
  while (!done && !stopped_ && !kill_) co_await changed_.wait();
  if (done) co_return *done;
  stop.wanted = true;
  while (stop.threads > 0) co_await stop.changed.wait();
  co_return fail(Errc::closed, "stopped while its inputs were downloaded");
}

loop::Task<> HostRun::bring_all(s3client::FetchStop& stop, std::optional<Result<void>>& done) {
  Tell tell = [this](const std::string& line) { log("info", line); };
  done = co_await bring(loop_, spec_, s3_->state(), stop, std::move(tell));
  changed_.notify();
}

/// Checkpoints in a folder are brought here; those in S3 came with the inputs.
loop::Task<Result<void>> HostRun::keep_checkpoints() {
  if (!job::keeps_checkpoints(spec_.spec)) co_return Result<void>();
  const std::string here = container::ml_folder(spec_) + "/checkpoints";
  const std::string& folder = spec_.spec.checkpoint_folder;
  std::unique_ptr<CheckpointPlace> place;
  if (folder.empty()) {
    const Result<s3wire::S3Url> to = s3wire::parse_s3_prefix(spec_.spec.checkpoint_url);
    if (!to) co_return to.error();
    place = checkpoints_in_s3(s3_, *to);
  } else {
    Result<std::unique_ptr<CheckpointPlace>> opened =
        checkpoints_in_folder(loop_, folder, spec_.spec.checkpoint_owner);
    if (!opened) co_return opened.error().in("checkpoints");
    place = *std::move(opened);
    const Staged kept{"checkpoints", folder, "", here};
    const std::function<int()> restore = [folder, here] {
      return restore_checkpoints(folder, here);
    };
    Result<Process> copy = start_copy(restore);
    const Result<void> restored = co_await finish_copy(kept, std::move(copy));
    if (!restored) co_return restored.error();
  }
  CheckpointSync::Options options{.folder = here};
  Result<std::unique_ptr<CheckpointSync>> sync =
      CheckpointSync::start(loop_, std::move(place), std::move(options),
                            [this](const std::string& line) { log("warning", line); });
  if (!sync) co_return sync.error();
  checkpoints_ = *std::move(sync);
  co_return Result<void>();
}

/// Waits for a copy, which a stop ends.
loop::Task<Result<void>> HostRun::finish_copy(Staged staged, Result<Process> copy) {
  if (!copy) co_return copy.error();
  copy_ = *std::move(copy);
  Result<void> done = co_await copied(loop_, staged, *copy_);
  copy_.reset();
  if (Result<void> wanted = co_await still_wanted(); !wanted) co_return wanted.error();
  co_return done;
}

loop::Task<Result<void>> HostRun::stage_inputs() {
  const Result<std::string> mountinfo = read_file("/proc/self/mountinfo");
  if (!mountinfo) co_return mountinfo.error();
  const std::vector<std::string> points = container::mount_points(*mountinfo);
  for (const Staged& staged : to_stage(spec_)) {
    Result<std::optional<Process>> copy = stage(staged, points, ids_);
    if (!copy) co_return copy.error();
    if (!*copy) {
      staged_.push_back(staged.target.substr(container::ml_folder(spec_).size()));
      continue;
    }
    log("info", staged.what + ": copying " + staged.from + " (no overlay possible)");
    Result<Process> begun(*std::move(*copy));
    const Result<void> done = co_await finish_copy(staged, std::move(begun));
    if (!done) co_return done.error();
  }
  co_return Result<void>();
}

container::Facts HostRun::facts() const {
  container::Facts facts;
  facts.program = machine_.program;
  if (network_) facts.network_namespace = network_->path();
  if (namespaces_.user) {
    facts.user_namespace = container::path_of(namespaces_.user);
    facts.ids = namespaces_.ids;
  }
  facts.rootless = ids_.rootless;
  facts.user = user_;
  if (!spec_.spec.image) {
    facts.binds = machine_.view.binds;
    facts.masks = machine_.view.masks;
  }
  const std::string ml = container::ml_folder(spec_);
  for (const Staged& staged : to_stage(spec_)) {
    if (container::is_in(staged.from, spec_.job_folder)) continue;  // Fetched for this very job.
    const std::string in_host = job::ml_path + staged.target.substr(ml.size());
    for (std::string& mask : container::inside(machine_.muster_folders, staged.from, in_host))
      facts.masks.push_back(std::move(mask));
  }
  for (const job::BoundPath& bound : spec_.spec.bound)
    for (std::string& mask :
         container::inside(machine_.muster_folders, bound.outside, bound.inside))
      facts.masks.push_back(std::move(mask));
  facts.staged = staged_;
  facts.limits =
      container::host_limits(container::job_limits(machine_.size), spec_.spec.instance_count,
                             spec_.spec.shm_bytes, job::memory_of(spec_.spec, spec_.host));
  facts.processors = std::thread::hardware_concurrency();
  facts.open_files_max = machine_.open_files_max;
  return facts;
}

/// Mounts what the bundle names, where its runtime finds it.
Result<void> HostRun::show(const container::Facts& facts) {
  std::size_t number = 0;
  for (const container::Bind& bind : container::binds(spec_, facts)) {
    const std::string place = container::shown_place(number++);
    if (bind.is_device) {
      TRY(container::mount_device(node_of(spec_.devices, bind.target), place));
    } else if (bind.bound) {
      const std::string note =
          TRY(container::mount_bound(*bind.bound, place, ids_, machine_.muster_folders));
      if (!note.empty()) log("warning", note);
    } else if (bind.read_only) {
      TRY(container::mount_read_only(bind.source, place, ids_));
    } else {
      TRY(container::mount_bind(bind.source, place, ids_, {false, bind.translated}));
    }
  }
  return {};
}

loop::Task<Result<void>> HostRun::start_container() {
  container::Facts found = facts();
  // Others choose when this host's group is there, and says what it took.
  const Result<Fd> choosing = choose_cpus(found.cpus);
  if (!choosing) co_return choosing.error();
  if (spec_.spec.shm_bytes > job::shm_bytes_default &&
      found.limits.shm_bytes < spec_.spec.shm_bytes)
    log("warning", "/dev/shm has " + std::to_string(found.limits.shm_bytes >> 20) +
                       " MiB, not the " + std::to_string(spec_.spec.shm_bytes >> 20) +
                       " MiB that were asked for: at most a quarter of the host's part of memory");
  if (Result<void> shown = show(found); !shown) co_return shown.error();
  Result<void> written = write_file(container::bundle_folder(spec_) + "/config.json",
                                    container::bundle_config(spec_, found), 0600);
  if (!written) co_return written.error();
  Result<Pipe> out = make_pipe(), err = make_pipe(), stream = make_pipe(), lifeline = make_pipe();
  if (!out || !err || !stream || !lifeline) co_return fail_errno("pipe");
  // Programs open these anew, as /dev/stderr or /proc/1/fd/3: they are the host's own.
  for (const Fd* end : {&out->write, &err->write, &stream->write})
    if (Result<void> given = container::give(*end, ids_, user_.uid); !given)
      co_return given.error();
  ::fcntl(stream->read.get(), F_SETPIPE_SZ, stream_bytes);  // Fewer turns; fine if refused.
  container_lifeline_ = std::move(lifeline->write);
  enter(job::Phase::training);
  const Result<Fd> joining = wait_for_shared_lock(spec_.job_folder, false);
  if (!joining) co_return joining.error();
  if (Result<void> limited = limit(); !limited) co_return limited.error();
  container::ContainerStdio stdio{std::move(out->write), std::move(err->write),
                                  std::move(stream->write), std::move(lifeline->read)};
  Result<Process> init = co_await runtime_->start(loop_, spec_, std::move(stdio));
  if (!init) co_return init.error();
  init_ = *std::move(init);
  running_ = true;
  if (kill_) init_->signal(SIGKILL);
  if (stopped_) tasks_.start(terminate());
  watch_memory_places(found.limits);
  tasks_.start(watch_places());
  readers_ = 3;
  tasks_.start(read_stream(std::move(stream->read)));
  tasks_.start(read_output(std::move(out->read), job::Stream::out));
  tasks_.start(read_output(std::move(err->read), job::Stream::err));
  co_return Result<void>();
}

}  // namespace muster::steward
