#include "server/bucket/span_budget.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace muster::bucket {

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto size = static_cast<double>(bytes);
  for (; size >= 1024 && unit + 1 < units.size(); ++unit) size /= 1024;
  std::array<char, 32> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", size,
                                  units[unit]));
  return text.data();
}

std::vector<KeySpan> apart(std::vector<KeySpan> spans) {
  std::vector<KeySpan> kept;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto lies_in = [&](std::size_t other) {
      const KeySpan& outer = spans[other];
      const bool is_same = outer.key == spans[i].key && outer.is_folder == spans[i].is_folder;
      return other != i && outer.holds(spans[i].key) && (outer.is_folder || !spans[i].is_folder) &&
             (!is_same || other < i);
    };
    bool is_inside = false;
    for (std::size_t other = 0; other < spans.size(); ++other)
      is_inside = is_inside || lies_in(other);
    if (!is_inside) kept.push_back(spans[i]);
  }
  return kept;
}

/// What a write on its way adds to what lies there.
Amount Budget::share_of(const Hold& hold) const {
  const std::uint64_t replaced = std::min(hold.present_.value_or(0), hold.bytes_);
  return {hold.bytes_ - replaced, hold.is_counted_ && !hold.present_ ? 1u : 0u};
}

Result<void, aws::Refusal> Budget::fits(const Amount& more) const {
  const Amount there{used_.bytes + held_.bytes, used_.files + held_.files};
  std::string over;
  if (most_.bytes > 0 && more.bytes > 0 && there.bytes + more.bytes > most_.bytes)
    over = bytes_text(most_.bytes) + ", of which " + bytes_text(there.bytes) +
           " is used; this request requires " + bytes_text(more.bytes) + " more";
  else if (most_.files > 0 && more.files > 0 && there.files + more.files > most_.files)
    over = std::to_string(most_.files) + " objects and parts of uploads, all of which are used";
  if (over.empty()) return {};
  return aws::Refusal{
      "QuotaExceeded",
      "The S3 quota of this job's key is " + over +
          ". Delete objects, request a larger VolumeSizeInGB, or have the admin raise "
          "jobs.s3_budget_gib in the server's config.",
      403,
      {}};
}

void Budget::changed(const std::string& name, std::optional<std::uint64_t> before,
                     std::optional<std::uint64_t> after, Hold* by) {
  const std::lock_guard lock(mutex_);
  if (by != nullptr && by->budget_.get() == this) {
    const Amount share = share_of(*by);
    held_ = {held_.bytes - share.bytes, held_.files - share.files};
    const auto first = first_.find(by->name_);
    if (first != first_.end() && first->second == by) first_.erase(first);
    by->bytes_ = 0;
    by->is_counted_ = false;
  }
  used_.bytes += after.value_or(0) - before.value_or(0);
  used_.files += (after ? 1u : 0u) - std::uint64_t{before ? 1u : 0u};
  const auto first = first_.find(name);
  if (first == first_.end()) return;
  const Amount old = share_of(*first->second);
  first->second->present_ = after;
  const Amount now = share_of(*first->second);
  held_ = {held_.bytes - old.bytes + now.bytes, held_.files - old.files + now.files};
}

Amount Budget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void Hold::begin(std::shared_ptr<Budget> budget, std::string name,
                 std::optional<std::uint64_t> present) {
  budget_ = std::move(budget);
  name_ = std::move(name);
  if (!budget_) return;
  const std::lock_guard lock(budget_->mutex_);
  if (budget_->first_.try_emplace(name_, this).second) present_ = present;
}

Result<void, aws::Refusal> Hold::grow(std::uint64_t bytes) {
  if (!budget_) return {};
  const std::lock_guard lock(budget_->mutex_);
  const Amount before = budget_->share_of(*this);
  const bool was_counted = std::exchange(is_counted_, true);
  bytes_ += bytes;
  const Amount after = budget_->share_of(*this);
  const Amount more{after.bytes - before.bytes, after.files - before.files};
  Result<void, aws::Refusal> fits = budget_->fits(more);
  if (fits) {
    budget_->held_.bytes += more.bytes;
    budget_->held_.files += more.files;
  } else {
    bytes_ -= bytes;
    is_counted_ = was_counted;
  }
  return fits;
}

void Hold::end() {
  if (!budget_) return;
  const std::lock_guard lock(budget_->mutex_);
  const Amount share = budget_->share_of(*this);
  budget_->held_ = {budget_->held_.bytes - share.bytes, budget_->held_.files - share.files};
  const auto first = budget_->first_.find(name_);
  if (first != budget_->first_.end() && first->second == this) budget_->first_.erase(first);
}

void Budgets::add(const std::shared_ptr<Budget>& budget, std::vector<KeySpan> spans) {
  std::erase_if(all_, [](const Counting& each) { return each.budget.expired(); });
  all_.push_back({budget, std::move(spans)});
}

void Budgets::changed(std::string_view key, const std::string& name,
                      std::optional<std::uint64_t> before, std::optional<std::uint64_t> after,
                      Hold* by) const {
  for (const Counting& each : all_) {
    const bool counts = std::any_of(each.spans.begin(), each.spans.end(),
                                    [&](const KeySpan& span) { return span.holds(key); });
    if (!counts) continue;
    if (const std::shared_ptr<Budget> budget = each.budget.lock())
      budget->changed(name, before, after, by);
  }
}

}  // namespace muster::bucket
