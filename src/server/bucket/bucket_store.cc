#include "server/bucket/bucket_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "base/files/remove_tree.h"
#include "base/text.h"

namespace muster::bucket {
namespace {

constexpr const char* temporary_name = ".temporary";

}  // namespace

Result<std::unique_ptr<BucketStore>> BucketStore::open(const std::string& folder,
                                                       std::function<void(const Error&)> failed) {
  TRY(make_folders(folder, 0700));
  static_cast<void>(remove_tree(folder + "/" + temporary_name));
  std::unique_ptr<BucketStore> store(new BucketStore(std::move(failed)));
  store->folder_ = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!store->folder_) return fail_errno("cannot open " + folder);
  store->temporary_ = TRY(open_folder(store->folder_.get(), temporary_name));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (!s3wire::is_bucket_name(name)) continue;
    Result<std::shared_ptr<Bucket>> bucket = Bucket::open(store->folder_, name, store->failed_);
    if (!bucket) return bucket.error().in(folder + "/" + name);
    store->buckets_.emplace(std::move(name), *std::move(bucket));
  }
  if (error) return fail(Errc::system, folder + ": " + error.message());
  return store;
}

std::shared_ptr<Bucket> BucketStore::find(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = buckets_.find(name);
  return found == buckets_.end() ? nullptr : found->second;
}

Result<WholeObject> BucketStore::read(const s3wire::S3Url& url, std::uint64_t bytes_max) const {
  const std::string name = s3wire::text_of(url);
  const std::shared_ptr<Bucket> bucket = find(url.bucket);
  if (!bucket) return fail(Errc::not_found, name + ": no such bucket");
  std::optional<OpenedObject> object = TRY(bucket->find(url.key, true));
  if (!object) return fail(Errc::not_found, name + ": no such object");
  if (object->record.size > bytes_max)
    return fail(Errc::invalid_input, name + ": the object has " +
                                         std::to_string(object->record.size) +
                                         " bytes, but the limit is " + std::to_string(bytes_max));
  WholeObject whole{std::move(object->record), std::move(object->small)};
  if (object->is_small) return whole;
  const std::size_t size = static_cast<std::size_t>(whole.record.size);
  TRY(read_pieces(object->file.get(), name, 0, 1u << 20, [&](std::string_view piece) {
    whole.bytes += piece.substr(0, size - whole.bytes.size());
    return whole.bytes.size() < size;
  }));
  return whole;
}

Result<bool> BucketStore::create(const std::string& name, UnixMillis now) {
  const std::unique_lock lock(mutex_);
  if (buckets_.contains(name)) return false;
  TRY(Bucket::create(folder_, temporary_.get(), name, now));
  std::shared_ptr<Bucket> bucket = TRY(Bucket::open(folder_, name, failed_));
  buckets_.emplace(name, std::move(bucket));
  return true;
}

Result<BucketStore::Removal> BucketStore::remove(const std::string& name) {
  const std::shared_ptr<Bucket> bucket = find(name);
  if (!bucket) return Removal::no_such_bucket;
  const bool empty = TRY(bucket->retire());
  if (!empty) return Removal::not_empty;
  const std::string grave = "removed-" + hex(random_bytes(8));
  {
    const std::unique_lock lock(mutex_);
    const auto found = buckets_.find(name);
    if (found == buckets_.end() || found->second != bucket) return Removal::no_such_bucket;
    if (::renameat(folder_.get(), name.c_str(), temporary_.get(), grave.c_str()) != 0)
      return fail_errno("cannot rename " + name);
    buckets_.erase(found);
  }
  // What stays is cleared away at the next start.
  static_cast<void>(remove_tree_at(temporary_.get(), grave));
  return Removal::done;
}

std::vector<s3wire::BucketEntry> BucketStore::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<s3wire::BucketEntry> entries;
  for (const auto& [name, bucket] : buckets_) entries.push_back({name, bucket->created()});
  return entries;
}

}  // namespace muster::bucket
