#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "server/bucket/bucket_store.h"
#include "server/bucket/budget.h"

namespace muster::s3server {

/// What keys with a limit have written: a budget for each, which counts what lies in the places
/// that the key may write. Any number of threads.
class KeyBudgets {
 public:
  /// Null: the key has no limit, or find() has to come first.
  std::shared_ptr<bucket::Budget> ready(const std::shared_ptr<const access::AccessKey>& key,
                                        const std::shared_ptr<bucket::Bucket>& bucket) const;
  /// Counts what is there by now. Blocks: with many objects it takes a while.
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
