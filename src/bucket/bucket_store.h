#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "bucket/bucket.h"
#include "s3wire/s3_answer.h"

namespace muster::bucket {

/// All buckets under one folder. Any number of threads; blocks for the disk. One process at a
/// time: the owner of the data folder's lock.
class BucketStore {
 public:
  /// Makes the folder if needed, clears away drafts that a crash left. Error: `system`, `denied`.
  static Result<std::unique_ptr<BucketStore>> open(const std::string& folder);

  /// Null if there is none.
  std::shared_ptr<Bucket> find(std::string_view name) const;
  /// False if there is one already. `name` is a bucket name (is_bucket_name).
  Result<bool> create(const std::string& name, UnixMillis now);
  enum class Removal { done, not_empty, no_such_bucket };
  Result<Removal> remove(const std::string& name);
  /// Sorted by name.
  std::vector<s3wire::BucketEntry> all() const;

 private:
  BucketStore() = default;

  Fd folder_;
  Fd temporary_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, std::shared_ptr<Bucket>, std::less<>> buckets_;
};

}  // namespace muster::bucket
