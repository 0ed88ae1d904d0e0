#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "aws/s3wire/s3_listing.h"
#include "server/bucket/bucket_record.h"
#include "server/bucket/span_budget.h"

namespace muster::bucket {

/// A bucket's keys in order, in memory: listings touch no disk. Filled at the first listing, by
/// reading the bucket's files; kept up to date from then on. Any number of threads.
class BucketIndex {
 public:
  explicit BucketIndex(std::string bucket) : bucket_(std::move(bucket)) {}

  /// An object was written or removed. Callers ensure that changes of one key arrive in the order
  /// in which they happened on disk.
  void put(const ObjectRecord& record, Hold* by = nullptr);
  void remove(const std::string& key);

  bool filled() const;
  /// `scan` calls its argument for every object that is on disk; put() and remove() may be called
  /// meanwhile. Does nothing if the index is filled.
  Result<void> fill(
      const std::function<Result<void>(const std::function<void(const ObjectRecord&)>&)>& scan);
  /// A page of keys. Call after fill().
  s3wire::Listing page(const s3wire::ListQuery& query) const;
  bool empty() const;

  /// From now on, `budget` counts the objects in `spans`. Call after fill().
  void count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans);
  /// Reserves space for an object. Call after fill() if there is a budget.
  void hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& key) const;

 private:
  struct Entry {
    std::string etag;
    std::uint64_t size = 0;
    UnixMillis modified{};
    std::optional<s3wire::Checksum> checksum;
    bool whole_checksum = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  class Cursor;
  static Entry entry_of(const ObjectRecord& record);
  std::string name_of(const std::string& key) const { return bucket_ + "/" + key; }

  const std::string bucket_;
  mutable std::shared_mutex mutex_;
  std::mutex filling_mutex_;
  bool filling_ = false;
  bool filled_ = false;
  Entries entries_;
  Budgets budgets_;
  /// Changes during filling; none: removed.
  std::vector<std::pair<std::string, std::optional<Entry>>> changes_;
};

}  // namespace muster::bucket
