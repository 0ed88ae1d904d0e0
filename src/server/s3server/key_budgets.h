#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "server/bucket/bucket_store.h"
#include "server/bucket/span_budget.h"

namespace muster::s3server {

/// The budgets of keys with a quota: each counts the objects in the places that the key may write
/// to. Any number of threads.
class KeyBudgets {
 public:
  /// Null if the key has no quota, or if find() was not called yet.
  std::shared_ptr<bucket::Budget> ready(const std::shared_ptr<const access::AccessKey>& key,
                                        const std::shared_ptr<bucket::Bucket>& bucket) const;
  /// Counts the existing objects. Blocks; slow with many objects.
  Result<std::shared_ptr<bucket::Budget>> find(const std::shared_ptr<const access::AccessKey>& key,
                                               bucket::BucketStore& store,
                                               const std::shared_ptr<bucket::Bucket>& bucket);

 private:
  struct Counted {
    std::shared_ptr<const access::AccessKey>
        key;  ///< A key that is admitted again is a different one.
    std::shared_ptr<bucket::Budget> budget;
    std::vector<std::weak_ptr<bucket::Bucket>> buckets;
    bool counts(const std::shared_ptr<bucket::Bucket>& bucket) const;
  };
  Result<void> count(Counted& counted, const std::shared_ptr<bucket::Bucket>& bucket);

  mutable std::mutex mutex_;
  std::mutex counting_mutex_;
  std::map<std::string, Counted, std::less<>> all_;  ///< By the keys' ids.
};

/// True if the key's writes are counted.
bool has_budget(const access::AccessKey& key);

}  // namespace muster::s3server
