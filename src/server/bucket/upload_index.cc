#include "server/bucket/upload_index.h"

#include <set>

namespace muster::bucket {
namespace {

std::string name_of(const std::string& id, int number) {
  return id + "/" + std::to_string(number);
}

}  // namespace

void UploadIndex::begun(const std::string& id, std::string key, std::string owner, Hold* by) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = uploads_.try_emplace(id, Upload{std::move(key), std::move(owner), {}});
  if (is_new) budgets_.changed(at->second.key, id, std::nullopt, 0, by);
}

Result<bool> UploadIndex::put_part(const std::string& id, int number, std::uint64_t bytes, Hold* by,
                                   const std::function<Result<void>()>& put) {
  const std::lock_guard lock(mutex_);
  const auto at = uploads_.find(id);
  if (at == uploads_.end() || !at->second.is_open) return false;
  TRY(put());
  const auto part = at->second.parts.find(number);
  const auto before =
      part == at->second.parts.end() ? std::nullopt : std::optional<std::uint64_t>(part->second);
  budgets_.changed(at->second.key, name_of(id, number), before, bytes, by);
  at->second.parts[number] = bytes;
  return true;
}

void UploadIndex::tell_parts(const std::string& id, const Upload& upload, bool come) const {
  for (const auto& [number, bytes] : upload.parts) {
    const std::optional<std::uint64_t> size = bytes;
    budgets_.changed(upload.key, name_of(id, number), come ? std::nullopt : size,
                     come ? size : std::nullopt);
  }
}

UploadIndex::Parts UploadIndex::completed(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto at = uploads_.find(id);
  if (at == uploads_.end()) return {};
  tell_parts(id, at->second, false);
  at->second.is_open = false;
  return std::exchange(at->second.parts, {});
}

void UploadIndex::reopened(const std::string& id, const Parts& parts) {
  const std::lock_guard lock(mutex_);
  const auto at = uploads_.find(id);
  if (at == uploads_.end() || at->second.is_open) return;
  at->second.parts = parts;
  at->second.is_open = true;
  tell_parts(id, at->second, true);
}

void UploadIndex::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto at = uploads_.find(id);
  if (at == uploads_.end()) return;
  tell_parts(id, at->second, false);
  budgets_.changed(at->second.key, id, 0, std::nullopt);
  uploads_.erase(at);
}

std::vector<std::string> UploadIndex::owned_by(const std::string& owner) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, upload] : uploads_)
    if (upload.is_open && upload.owner == owner) ids.push_back(id);
  return ids;
}

std::vector<std::string> UploadIndex::owners() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> all;
  for (const auto& [id, upload] : uploads_)
    if (upload.is_open && !upload.owner.empty()) all.insert(upload.owner);
  return {all.begin(), all.end()};
}

void UploadIndex::count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans) {
  const std::lock_guard lock(mutex_);
  Budgets only;
  only.add(budget, spans);
  for (const auto& [id, upload] : uploads_) {
    only.changed(upload.key, id, std::nullopt, 0);
    for (const auto& [number, bytes] : upload.parts)
      only.changed(upload.key, name_of(id, number), std::nullopt, bytes);
  }
  budgets_.add(budget, spans);
}

void UploadIndex::hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& id,
                       int number) const {
  const std::lock_guard lock(mutex_);
  std::optional<std::uint64_t> present;
  if (const auto at = uploads_.find(id); at != uploads_.end())
    if (const auto part = at->second.parts.find(number); part != at->second.parts.end())
      present = part->second;
  hold.begin(std::move(budget), name_of(id, number), present);
}

}  // namespace muster::bucket
