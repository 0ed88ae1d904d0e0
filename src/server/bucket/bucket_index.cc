#include "server/bucket/bucket_index.h"

namespace muster::bucket {

class BucketIndex::Cursor final : public s3wire::KeyCursor {
 public:
  explicit Cursor(const Entries& entries) : entries_(entries), at_(entries.begin()) {}
  void seek(std::string_view key) override { at_ = entries_.lower_bound(key); }
  void next() override {
    if (at_ != entries_.end()) ++at_;
  }
  std::optional<std::string_view> key() override {
    if (at_ == entries_.end()) return std::nullopt;
    return at_->first;
  }
  std::optional<s3wire::ListedObject> object() override {
    if (at_ == entries_.end()) return std::nullopt;
    const auto& [key, entry] = *at_;
    return s3wire::ListedObject{
        key, entry.etag, entry.size, entry.modified, entry.checksum, entry.whole_checksum};
  }

 private:
  const Entries& entries_;
  Entries::const_iterator at_;
};

BucketIndex::Entry BucketIndex::entry_of(const ObjectRecord& record) {
  Entry entry{record.etag, record.size, record.modified, std::nullopt, false};
  if (record.checksum) {
    entry.checksum = record.checksum->kind;
    entry.whole_checksum = record.checksum->whole;
  }
  return entry;
}

void BucketIndex::put(const ObjectRecord& record, Hold* by) {
  const std::unique_lock lock(mutex_);
  if (filled_) {
    const auto [at, is_new] = entries_.try_emplace(record.key);
    const auto before = is_new ? std::nullopt : std::optional<std::uint64_t>(at->second.size);
    at->second = entry_of(record);
    budgets_.changed(record.key, name_of(record.key), before, record.size, by);
  } else if (filling_) {
    changes_.emplace_back(record.key, entry_of(record));
  }
}

void BucketIndex::remove(const std::string& key) {
  const std::unique_lock lock(mutex_);
  if (filled_) {
    const auto at = entries_.find(key);
    if (at == entries_.end()) return;
    budgets_.changed(key, name_of(key), at->second.size, std::nullopt);
    entries_.erase(at);
  } else if (filling_) {
    changes_.emplace_back(key, std::nullopt);
  }
}

bool BucketIndex::filled() const {
  const std::shared_lock lock(mutex_);
  return filled_;
}

Result<void> BucketIndex::fill(
    const std::function<Result<void>(const std::function<void(const ObjectRecord&)>&)>& scan) {
  const std::lock_guard one_at_a_time(filling_mutex_);
  {
    const std::unique_lock lock(mutex_);
    if (filled_) return {};
    filling_ = true;
  }
  Entries found;
  const Result<void> scanned = scan([&found](const ObjectRecord& record) {
    found.insert_or_assign(record.key, entry_of(record));
  });
  const std::unique_lock lock(mutex_);
  filling_ = false;
  std::vector<std::pair<std::string, std::optional<Entry>>> changes;
  changes.swap(changes_);
  if (!scanned) return scanned.error();
  for (auto& [key, entry] : changes) {
    if (entry)
      found.insert_or_assign(std::move(key), *std::move(entry));
    else
      found.erase(key);
  }
  entries_ = std::move(found);
  filled_ = true;
  return {};
}

s3wire::Listing BucketIndex::page(const s3wire::ListQuery& query) const {
  const std::shared_lock lock(mutex_);
  CHECK_THAT(filled_, "an index is listed after it was filled");
  Cursor cursor(entries_);
  return s3wire::list(cursor, query);
}

bool BucketIndex::empty() const {
  const std::shared_lock lock(mutex_);
  return entries_.empty();
}

void BucketIndex::count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans) {
  const std::unique_lock lock(mutex_);
  CHECK_THAT(filled_, "an index is counted after it was filled");
  for (const KeySpan& span : spans)
    for (auto at = entries_.lower_bound(span.key); at != entries_.end() && span.holds(at->first);
         ++at)
      budget->changed(name_of(at->first), std::nullopt, at->second.size);
  budgets_.add(budget, spans);
}

void BucketIndex::hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& key) const {
  const std::shared_lock lock(mutex_);
  CHECK_THAT(filled_ || !budget, "a budget counts what an index holds");
  const auto at = entries_.find(key);
  const auto present =
      at == entries_.end() ? std::nullopt : std::optional<std::uint64_t>(at->second.size);
  hold.begin(std::move(budget), name_of(key), present);
}

}  // namespace muster::bucket
