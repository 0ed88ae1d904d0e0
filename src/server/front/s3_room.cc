#include "server/front/s3_room.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <set>

#include "net/loop/worker.h"
#include "server/bucket/bucket_uploads.h"

namespace muster::server {
namespace {

constexpr std::uint64_t free_most = std::uint64_t{2} << 30;

std::set<std::string> owners_in(const bucket::BucketStore& buckets) {
  std::set<std::string> owners;
  for (const s3wire::BucketEntry& entry : buckets.all())
    if (const std::shared_ptr<bucket::Bucket> bucket = buckets.find(entry.name))
      for (std::string& owner : bucket->upload_index().owners()) owners.insert(std::move(owner));
  return owners;
}

Result<void> abort_uploads(const bucket::BucketStore& buckets,
                           const std::set<std::string>& owners) {
  for (const s3wire::BucketEntry& entry : buckets.all())
    if (const std::shared_ptr<bucket::Bucket> bucket = buckets.find(entry.name))
      for (const std::string& owner : owners)
        TRY(bucket::BucketUploads(*bucket).abort_all_of(owner));
  return {};
}

}  // namespace

std::uint64_t default_free_min(std::uint64_t disk_bytes) {
  return std::min(disk_bytes / 20, free_most);
}

std::uint64_t free_min_of(const ServerConfig& config) {
  if (config.disk_free_bytes) return *config.disk_free_bytes;
  struct statvfs disk {};
  if (::statvfs((config.data + "/s3").c_str(), &disk) != 0) return free_most;
  return default_free_min(std::uint64_t{disk.f_blocks} * disk.f_frsize);
}

loop::Task<> sweep_uploads(loop::Loop& loop, bucket::BucketStore& buckets, store::Store& store,
                           const Log& log) {
  const auto is_running = [&store](const std::string& owner) {
    const Result<std::optional<store::Job>> job = store.job(owner);
    return !job || (*job && !store::is_terminal((*job)->state.status));
  };
  const auto look = [&] { return owners_in(buckets); };
  std::set<std::string> owners = co_await loop::in_thread(loop, look);
  std::erase_if(owners, is_running);
  if (owners.empty()) co_return;
  const auto work = [&] { return abort_uploads(buckets, owners); };
  const Result<void> done = co_await loop::in_thread(loop, work);
  if (!done) log.error("cannot abort the uploads of jobs that have ended: " + done.error().text);
}

}  // namespace muster::server
