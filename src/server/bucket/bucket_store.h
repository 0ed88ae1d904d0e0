#pragma once

#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_url.h"
#include "server/bucket/bucket.h"

namespace muster::bucket {

struct WholeObject {
  ObjectRecord record;
  std::string bytes;
};

/// All buckets under one folder. Any number of threads; blocks for the disk. One process at a
/// time: the owner of the data folder's lock.
class BucketStore {
 public:
  /// Creates the folder if needed, and removes drafts that a crash left. Error: `system`, `denied`.
  /// `failed` receives, from any thread, the first error of a disk that accepts no more of a
  /// bucket's log. Until the next start, each small object is synced separately; writes and
  /// deletions of objects in the log are errors, because a power failure would restore the log's
  /// version.
  static Result<std::unique_ptr<BucketStore>> open(const std::string& folder,
                                                   std::function<void(const Error&)> failed = {});

  /// Null if it does not exist.
  std::shared_ptr<Bucket> find(std::string_view name) const;
  /// A whole object. Errors name it: `not_found`, `invalid_input` (it has more bytes), `system`.
  Result<WholeObject> read(const s3wire::S3Url& url, std::uint64_t bytes_max) const;
  /// False if there is one already. `name` is a bucket name (is_bucket_name).
  Result<bool> create(const std::string& name, UnixMillis now);
  enum class Removal { done, not_empty, no_such_bucket };
  Result<Removal> remove(const std::string& name);
  /// Sorted by name.
  std::vector<s3wire::BucketEntry> all() const;

 private:
  explicit BucketStore(std::function<void(const Error&)> failed) : failed_(std::move(failed)) {}

  const std::function<void(const Error&)> failed_;
  Fd folder_;
  Fd temporary_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<Bucket>, std::less<>> buckets_;
};

}  // namespace muster::bucket
