// ContainerHousing's steps up to a running container, and back.

#include "machine/housing/container_housing.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/process/rootless.h"
#include "container/bundle/bound_mount.h"
#include "container/bundle/rootfs.h"
#include "container/cgroup.h"
#include "container/host_network/outside.h"
#include "job/ml_paths.h"
#include "machine/housing/folders.h"
#include "machine/housing/near_gpus.h"
#include "machine/housing/staging.h"

namespace muster::steward {
namespace {

using container::Process;

constexpr std::size_t accounts_bytes_max = 1u << 20;  ///< An image's passwd and group files.
/// The host's address of the name server, inside its own network.
constexpr const char* name_service = "127.0.0.1";
constexpr std::uint16_t name_port = 53;

/// The host's address as servers on this machine see it: a separate loopback address.
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

std::unique_ptr<Housing> container_housing(HousingContext context) {
  return std::make_unique<ContainerHousing>(std::move(context));
}

ContainerHousing::ContainerHousing(HousingContext context)
    : context_(std::move(context)), spec_(context_.spec) {}

Result<void> ContainerHousing::open() {
  runtime_ = TRY(container::Runtime::find(context_.env));
  return open_disk();
}

Result<void> ContainerHousing::build() {
  machine_ = TRY(container::read_machine(spec_, context_.env));
  Result<void> made;
  const std::int64_t own_ids = rootless_ids(context_.env);
  ids_.rootless = own_ids > 0;
  if (ids_.rootless)
    TRY(put_together(container::ids_of_rootless(own_ids)));
  else if (spec_.first_id != 0)
    made = put_together(container::ids_from(static_cast<std::uint32_t>(spec_.first_id)));
  if (!made) {
    context_.log("warning",
                 "no user namespace: root in this host has the user ID of the machine's root (" +
                     made.error().text + ")");
    ids_ = {};
    namespaces_ = {};
    container::unmount_host_place();
    container::unmount(container::layers_folder(spec_));
    TRY(remove_tree(container::layers_folder(spec_)));
  }
  if (!namespaces_.user) TRY(put_together({}));
  if (job::shares_network(spec_))
    return write_file(container::bundle_folder(spec_) + "/resolv.conf",
                      read_file("/etc/resolv.conf").value_or(""));
  network_.emplace(
      TRY(container::HostNetwork::open(spec_, std::move(namespaces_.network), context_.env)));
  TRY(open_relay());
  return open_name_service();
}

/// The host's root with these ids, if the kernel and file systems support it.
Result<void> ContainerHousing::put_together(const std::vector<container::IdExtent>& ids) {
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
  for (const std::string& line :
       TRY(container::mount_host_root(machine_.view, layers + "/root", ids_)))
    context_.log("warning", line);
  return {};
}

/// The layers are kept while this host runs, even if the process that started the job has ended.
Result<void> ContainerHousing::keep_image() {
  const std::string& path = spec_.spec.image->lease;
  if (path.empty()) return {};
  image_lease_ = Fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  while (!image_lease_ || ::flock(image_lease_.get(), LOCK_SH) != 0)
    if (!image_lease_ || errno != EINTR) return fail_errno(std::string("cannot open ") + path);
  return {};
}

/// Finds the image's USER, and makes it the owner of the folders that it writes to.
Result<void> ContainerHousing::become_user() {
  const auto file = [](const char* path) {
    return container::read_in_root(container::host_root(), path, accounts_bytes_max).value_or("");
  };
  user_ = TRY(job::user_of(spec_.spec.image->user, file("etc/passwd"), file("etc/group")));
  const std::int64_t most = rootless_ids(context_.env);
  if (ids_.rootless && std::max<std::int64_t>(user_.uid, user_.gid) >= most)
    return fail(Errc::unsupported, "the image runs as user " + std::to_string(user_.uid) +
                                       ", but only IDs below " + std::to_string(most) +
                                       " are available without root; add subordinate IDs");
  return give_to_user(spec_, user_);
}

Result<void> ContainerHousing::give_checkpoints() {
  return give_checkpoints_to_user(spec_, user_);
}

/// Makes the job's S3 available inside the host.
Result<void> ContainerHousing::open_relay() {
  const std::optional<container::Doorway> way = TRY(container::doorway(spec_.spec.s3));
  if (!way) return {};
  relay_ = loop::Relay::open(context_.loop, TRY(network_->listen(way->address, way->port)),
                             {.host = way->host, .port = way->port, .from = outer_address(spec_)});
  return {};
}

/// The machine looks up names: its resolver may be reachable only from the machine.
Result<void> ContainerHousing::open_name_service() {
  if (!network_->why_not().empty())
    context_.log("warning", "the job has no outside network: " + network_->why_not() +
                                "; use --network none to silence this warning");
  if (!network_->leads_outside()) return {};
  const std::string resolv_conf = read_file("/etc/resolv.conf").value_or("");
  const std::vector<std::string> servers = container::name_servers(resolv_conf);
  datagrams_ = loop::DatagramRelay::open(
      context_.loop, TRY(network_->take_datagrams(name_service, name_port)), {servers, name_port});
  long_answers_ = loop::Relay::open(context_.loop, TRY(network_->listen(name_service, name_port)),
                                    {.host = servers.front(), .port = name_port});
  return write_file(container::bundle_folder(spec_) + "/resolv.conf",
                    container::host_resolv_conf(resolv_conf, name_service));
}

/// A scheduler's node has one host of the job, within the step's limit.
container::HostNeeds ContainerHousing::needs() const {
  container::HostNeeds needs{.hosts = spec_.in_step ? 1 : spec_.spec.instance_count,
                             .shm_bytes = spec_.spec.shm_bytes,
                             .memory_bytes = job::memory_of(spec_.spec, spec_.host),
                             .has_gpus = !spec_.devices.gpus.empty()};
  const std::optional<std::int64_t> of_step =
      spec_.in_step ? container::least_memory_limit(step_cgroup()) : std::nullopt;
  if (of_step && (needs.memory_bytes == 0 || *of_step < needs.memory_bytes))
    needs.memory_bytes = *of_step;
  return needs;
}

container::Facts ContainerHousing::facts(const std::vector<std::string>& staged) const {
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
  for (const Staged& each : to_stage(spec_)) {
    if (container::is_in(each.from, spec_.job_folder)) continue;  // Downloaded for this job.
    const std::string in_host = job::ml_path + each.target.substr(ml.size());
    for (std::string& mask : container::inside(machine_.muster_folders, each.from, in_host))
      facts.masks.push_back(std::move(mask));
  }
  for (const job::BoundPath& bound : spec_.spec.bound)
    for (std::string& mask :
         container::inside(machine_.muster_folders, bound.outside, bound.inside))
      facts.masks.push_back(std::move(mask));
  facts.staged = staged;
  facts.limits = container::host_limits(container::job_limits(machine_.size), needs());
  facts.processors = std::thread::hardware_concurrency();
  facts.open_files_max = machine_.open_files_max;
  return facts;
}

/// Mounts the sources of the bundle's binds where its runtime finds them.
Result<void> ContainerHousing::show(const container::Facts& facts) {
  std::size_t number = 0;
  for (const container::Bind& bind : container::binds(spec_, facts)) {
    const std::string layer = container::layers_folder(spec_) + "/room-" + std::to_string(number);
    const std::string place = container::shown_place(number++);
    if (!spec_.spec.image) TRY(container::make_room(bind.target, layer, ids_));
    if (bind.is_device) {
      TRY(container::mount_device(node_of(spec_.devices, bind.target), place));
    } else if (bind.bound) {
      const std::string note =
          TRY(container::mount_bound(*bind.bound, place, ids_, machine_.muster_folders));
      if (!note.empty()) context_.log("warning", note);
    } else if (bind.read_only) {
      TRY(container::mount_read_only(bind.source, place, ids_));
    } else {
      TRY(container::mount_bind(bind.source, place, ids_, {false, bind.translated}));
    }
  }
  return {};
}

void ContainerHousing::tell_lesser_shm(const container::HostLimits& limits) {
  if (limits.shm_bytes >= spec_.spec.shm_bytes) return;
  context_.log("warning", "/dev/shm has " + std::to_string(limits.shm_bytes >> 20) +
                              " MiB instead of the requested " +
                              std::to_string(spec_.spec.shm_bytes >> 20) + " MiB: the limit is " +
                              (needs().has_gpus ? "half" : "a quarter") +
                              " of the host's share of memory");
}

Result<void> ContainerHousing::furnish(const std::vector<std::string>& staged) {
  container::Facts found = facts(staged);
  limits_ = found.limits;
  cpus_chosen_ = TRY(choose_cpus(found.cpus));
  found.is_near_gpus = is_near(spec_.near, found.cpus);
  if (const std::string note = near_note(spec_.near, found.cpus); !note.empty())
    context_.log("info", note);
  tell_lesser_shm(found.limits);
  TRY(show(found));
  return write_file(container::bundle_folder(spec_) + "/config.json",
                    container::bundle_config(spec_, found), 0600);
}

loop::Task<Result<Process>> ContainerHousing::start(container::ContainerStdio stdio) {
  // Programs reopen these, e.g. as /dev/stderr or /proc/1/fd/3: they belong to the host's user.
  for (const Fd* end : {&stdio.out, &stdio.err, &stdio.steward_stream})
    if (Result<void> given = container::give(*end, ids_, user_.uid); !given)
      co_return given.error();
  const Result<Fd> joining = wait_for_shared_lock(spec_.job_folder, false);
  if (!joining) co_return joining.error();
  if (Result<void> limited = limit(); !limited) co_return limited.error();
  Result<Process> init = co_await runtime_->start(context_.loop, spec_, std::move(stdio));
  cpus_chosen_.reset();
  if (!init) co_return init.error();
  started_ = true;
  watch_memory_places(*init);
  co_return init;
}

std::string ContainerHousing::step_cgroup() {
  return container::memory_cgroup(read_file("/proc/self/cgroup", 65536).value_or(""));
}

/// The group in which the host's memory counts.
std::string ContainerHousing::own_cgroup() const {
  if (!spec_.in_step) return container::cgroup_path(spec_);
  const std::string own = step_cgroup();
  // If no group is set, the runtime creates one with the container's name, if it can.
  return container::cgroup_below(
      own, ids_.rootless ? container::container_id(spec_) : container::step_cgroup_name(spec_));
}

bool ContainerHousing::out_of_memory() const {
  if (container::killed_for_memory(own_cgroup()) > 0) return true;
  // If no group could be created, the host counts in the step's group.
  return spec_.in_step && ids_.rootless && container::killed_for_memory(step_cgroup()) > 0;
}

loop::Task<> ContainerHousing::end() {
  cpus_chosen_.reset();
  if (started_) {  // A container that did not start has been removed by then.
    const std::string id = container::container_id(spec_);
    Result<void> removed;
    if (spec_.in_step)  // The runtime created a group below the step's.
      removed = co_await runtime_->remove(context_.loop, id, container::bundle_folder(spec_));
    else
      removed = container::forget_ended(id);
    if (!removed) context_.not_undone(removed.error());
  }
  container::unmount_host_place();
}

loop::Task<> ContainerHousing::close() {
  relay_.reset();
  datagrams_.reset();
  long_answers_.reset();
  if (network_)
    if (const Result<void> closed = network_->close(spec_, context_.env); !closed)
      context_.not_undone(closed.error());
  network_.reset();
  if (const Result<void> closed = close_disk(); !closed) context_.not_undone(closed.error());
  if (const Result<Fd> leaving = wait_for_shared_lock(spec_.job_folder, true)) {
    container::remove_cgroup(container::cgroup_path(spec_));
    container::remove_idle_cgroup(container::job_cgroup_path(spec_));
  }
  co_return;
}

}  // namespace muster::steward
