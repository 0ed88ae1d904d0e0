#include "server/s3server/key_budgets.h"

#include <algorithm>

namespace muster::s3server {

bool has_budget(const access::AccessKey& key) {
  return key.policy.bytes_max > 0 || key.policy.files_max > 0;
}

bool KeyBudgets::Counted::counts(const std::shared_ptr<bucket::Bucket>& bucket) const {
  return std::any_of(buckets.begin(), buckets.end(),
                     [&](const auto& each) { return each.lock() == bucket; });
}

std::shared_ptr<bucket::Budget> KeyBudgets::ready(
    const std::shared_ptr<const access::AccessKey>& key,
    const std::shared_ptr<bucket::Bucket>& bucket) const {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(key->id);
  const bool is_ready =
      found != all_.end() && found->second.key == key && found->second.counts(bucket);
  return is_ready ? found->second.budget : nullptr;
}

Result<void> KeyBudgets::count(Counted& counted, const std::shared_ptr<bucket::Bucket>& bucket) {
  if (!bucket || counted.counts(bucket)) return {};
  std::vector<bucket::KeySpan> spans;
  for (const access::Place& place : counted.key->policy.writes)
    if (place.bucket == bucket->name())
      spans.push_back({place.key, place.extent != access::Extent::object});
  TRY(bucket->index());
  bucket->count(counted.budget, spans);
  counted.buckets.push_back(bucket);
  return {};
}

Result<std::shared_ptr<bucket::Budget>> KeyBudgets::find(
    const std::shared_ptr<const access::AccessKey>& key, bucket::BucketStore& store,
    const std::shared_ptr<bucket::Bucket>& bucket) {
  const std::lock_guard one_at_a_time(counting_mutex_);
  if (std::shared_ptr<bucket::Budget> budget = ready(key, bucket)) return budget;
  Counted counted{key, nullptr, {}};
  {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(key->id);
    if (found != all_.end() && found->second.key == key) counted = found->second;
  }
  if (!counted.budget)
    counted.budget = std::make_shared<bucket::Budget>(
        bucket::Amount{key->policy.bytes_max, key->policy.files_max});
  for (const access::Place& place : key->policy.writes)
    TRY(count(counted, store.find(place.bucket)));
  TRY(count(counted, bucket));
  const std::lock_guard lock(mutex_);
  // Revoked keys: there is no other holder any more.
  std::erase_if(all_, [](const auto& each) { return each.second.key.use_count() == 1; });
  all_.insert_or_assign(key->id, counted);
  return counted.budget;
}

}  // namespace muster::s3server
