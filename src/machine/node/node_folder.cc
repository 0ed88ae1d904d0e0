#include "machine/node/node_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/files/remove_tree.h"
#include "base/text.h"
#include "base/time.h"
#include "image/layers/bytes.h"
#include "job/wire/node_place.h"
#include "machine/node/job_place.h"
#include "os/packing/unpack.h"

namespace muster::node {
namespace {

/// Files from the submitter's machine, whose disk limits them.
constexpr std::uint64_t archive_bytes_max = std::uint64_t{1} << 40;
constexpr std::uint64_t archive_entries_max = 10'000'000;
/// Longer than the copying of a job can take, for which a node waits (slurm::bring_max).
constexpr std::chrono::hours bring_max{1};

/// The file system of a shared folder may show a file before all of it has arrived.
Result<void> check_digest(const std::string& archive, const std::string& digest) {
  Fd file(::open(archive.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return fail_errno("cannot open " + archive);
  const std::unique_ptr<image::Bytes> bytes =
      image::checked(image::bytes_of(std::move(file)), digest);
  while (true) {
    const Result<std::string_view> piece = bytes->next();
    if (!piece) return piece.error().in(archive);
    if (piece->empty()) return {};
  }
}

/// `digest`: for an archive that all nodes share; empty for the node's own copy.
Result<void> unpack_inputs(const std::string& archive, const std::string& digest,
                           const std::string& folder) {
  struct stat status {};
  if (::lstat(archive.c_str(), &status) != 0) return fail_errno("cannot open " + archive);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid())
    return fail(Errc::denied, archive + ": expected a regular file that belongs to this user");
  if (!digest.empty()) TRY(check_digest(archive, digest));
  packing::UnpackLimits limits;
  limits.bytes_max = archive_bytes_max;
  limits.entries_max = archive_entries_max;
  const packing::UnpackReport report = TRY(packing::unpack(archive, folder, limits, archive));
  if (report.refused > 0) return fail(Errc::invalid_input, archive + ": " + report.said.front());
  if (digest.empty() && ::unlink(archive.c_str()) != 0)
    return fail_errno("cannot remove " + archive);
  return {};
}

}  // namespace

Result<NodeFolder> NodeFolder::make(const job::NodeJob& job) {
  const std::string parent = std::filesystem::path(job::place_around(job.folder)).parent_path();
  remove_dead(parent);
  remove_unclaimed(parent, wall_time() - bring_max);
  if (::mkdir(job.folder.c_str(), 0700) != 0) {
    if (errno == EEXIST) return fail(Errc::invalid_input, job.folder + ": already exists");
    return fail_errno("cannot create " + job.folder);
  }
  NodeFolder folder(job.folder);
  const Result<void> filled = folder.fill(job);
  if (filled) return folder;
  static_cast<void>(folder.remove());
  return filled.error();
}

Result<void> NodeFolder::fill(const job::NodeJob& job) {
  if (!job.archive.empty()) TRY(unpack_inputs(job.archive, job.archive_digest, path_));
  const std::string lock = path_ + "/lock";
  lock_ = Fd(::open(lock.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock_) return fail_errno("cannot create " + lock);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno("cannot lock " + lock);
  return write_file(key_file(), hex(job.job_key) + "\n", 0600);
}

Result<void> NodeFolder::remove_host(const std::string& host) {
  return remove_tree(host_folder(host));
}

Result<void> NodeFolder::remove() {
  Result<void> removed = remove_tree(path_);
  lock_.reset();
  return removed;
}

}  // namespace muster::node
