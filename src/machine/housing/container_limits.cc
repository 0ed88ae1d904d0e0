// A container's limits on its machine, and its resource use when it failed.

#include <fcntl.h>

#include "base/process/user_namespace.h"
#include "container/bundle/rootfs.h"
#include "container/cgroup.h"
#include "container/cpus.h"
#include "container/volume.h"
#include "machine/housing/container_housing.h"
#include "machine/housing/folders.h"

namespace muster::steward {
namespace {

constexpr std::int64_t gibi = std::int64_t{1} << 30;

Result<Fd> open_folder(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path);
  return fd;
}

std::string image_of(const job::HostSpec& spec) {
  return spec.host_folder + "/disk.img";
}

}  // namespace

/// Creates the host's mounts, starting with the disk for all files that it writes.
Result<void> ContainerHousing::open_disk() {
  TRY(enter_private_mounts());
  const std::string folder = container::disk_folder(spec_);
  TRY(make_folders(folder));
  if (spec_.spec.volume_gib == 0) return {};
  const std::string asked = "VolumeSizeInGB=" + std::to_string(spec_.spec.volume_gib);
  const std::int64_t wanted = spec_.spec.volume_gib * gibi;
  const std::int64_t bytes = TRY(container::volume_bytes(folder, wanted));
  if (Result<void> made = container::mount_volume(image_of(spec_), folder, bytes, context_.env);
      !made) {
    context_.log("warning", asked + " has no effect here: " + made.error().text);
    return {};
  }
  if (bytes < wanted)
    context_.log("info", "the disk has " + size_text(bytes) + " of " + asked +
                             ", which is all the free space on the machine");
  volume_ = TRY(open_folder(folder));
  context_.full.watch("disk", size_text(bytes) + " of " + asked, TRY(open_folder(folder)));
  return {};
}

/// The host's file systems in memory: those that the bundle gives a size.
void ContainerHousing::watch_memory_places(const container::Process& init) {
  std::vector<std::pair<const char*, std::int64_t>> sizes = {{"/dev/shm", limits_.shm_bytes}};
  if (!spec_.spec.image) {
    sizes.emplace_back("/tmp", limits_.tmp_bytes);
    sizes.emplace_back("/run", limits_.run_bytes);
  }
  for (const auto& [path, bytes] : sizes) {
    const std::string seen = "/proc/" + std::to_string(init.pid()) + "/root" + path;
    Fd folder(::open(seen.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    context_.full.watch(path, size_text(bytes), std::move(folder));
  }
}

/// Further facts from the control groups: about the host's own limit, or the job's.
std::vector<std::string> ContainerHousing::overruns(bool out_of_memory, bool lacked_files) const {
  std::vector<std::string> lines;
  const std::string own = own_cgroup();
  const std::string all = container::job_cgroup_path(spec_);
  if (out_of_memory) {
    std::optional<std::int64_t> limit =
        spec_.in_step ? container::least_memory_limit(own) : container::memory_limit(own);
    if (!limit) limit = container::memory_limit(all);
    if (limit) lines.push_back("reached its memory limit (" + size_text(*limit) + ")");
  }
  if (container::refused_processes(own) || container::refused_processes(all))
    if (const std::optional<std::int64_t> limit = container::process_limit(own))
      lines.push_back("reached its limit of " + std::to_string(*limit) + " processes");
  if (lacked_files)
    lines.push_back("a process reached its limit of " +
                    std::to_string(container::open_files(machine_.open_files_max)) + " open files");
  return lines;
}

/// Called before results are taken from the disk: lost data is worse than a full disk.
Result<void> ContainerHousing::check_disk() const {
  if (!volume_ || container::is_volume_whole(volume_.get())) return {};
  return fail(Errc::system, "disk: the machine's disk filled up although the host stayed within " +
                                ("VolumeSizeInGB=" + std::to_string(spec_.spec.volume_gib)) +
                                "; some of the host's files are lost");
}

Result<void> ContainerHousing::close_disk() {
  context_.full.close();
  volume_.reset();
  container::unmount(container::disk_folder(spec_));
  const Result<void> image = remove_tree(image_of(spec_));
  const Result<void> folder = remove_tree(container::disk_folder(spec_));
  return image ? folder : image;
}

/// Reserves processors for a host with a whole number of them, if enough are left. The lock must be
/// held until the host's control group shows them.
Result<Fd> ContainerHousing::choose_cpus(std::string& cpus) const {
  const std::int64_t millis = job::cpu_millis_of(spec_.spec, spec_.host);
  // A scheduler chooses processors itself.
  if (millis == 0 || millis % 1000 != 0 || ids_.rootless || spec_.in_step) return Fd();
  Fd lock = TRY(wait_for_lock("/run/muster/cpus.lock"));
  const container::CpuShares shares = container::cpu_shares();
  const Cpus best = cpus_from(spec_.near.cpus).value_or(Cpus());
  const std::optional<Cpus> chosen = container::choose_cpus(
      shares.all, shares.taken, static_cast<std::size_t>(millis / 1000), best);
  if (chosen) cpus = cpu_list(*chosen);
  return lock;
}

/// The job's own limits, and those of all jobs together. Callers hold the job's lock.
Result<void> ContainerHousing::limit() {
  if (ids_.rootless || spec_.in_step) return {};
  const container::JobLimits limits = container::job_limits(machine_.size);
  const Fd lock = TRY(wait_for_lock(container::jobs_cgroup_lock));
  TRY(container::limit_cgroup(container::jobs_cgroup, limits));
  return container::limit_cgroup(container::job_cgroup_path(spec_), limits);
}

}  // namespace muster::steward
