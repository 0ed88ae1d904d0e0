#include "server/registry/uploads.h"

#include <algorithm>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster::registry {
namespace {

constexpr std::size_t id_bytes = 16;

aws::Refusal too_many(const std::string& what) {
  return {"TOOMANYREQUESTS", what, 429};
}

}  // namespace

Uploads::Taken::~Taken() {
  release();
}

void Uploads::Taken::release() {
  if (upload_) of_->put_back(upload_->id);
  upload_.reset();
}

void Uploads::Taken::end() {
  of_->remove(upload_->id);
}

Result<Uploads::Taken, aws::Refusal> Uploads::begin(std::string repository, std::string key_id,
                                                    image::BlobDraft draft) {
  const auto upload = std::make_shared<Upload>(hex(random_bytes(id_bytes)), std::move(repository),
                                               std::move(key_id), std::move(draft));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto of_key = std::count_if(entries_.begin(), entries_.end(), [&](const auto& one) {
    return one.second.upload->key_id == upload->key_id;
  });
  if (entries_.size() >= limits_.all_max || static_cast<std::size_t>(of_key) >= limits_.of_key_max)
    return too_many("too many uploads are in progress; finish some, or wait an hour");
  entries_[upload->id] = {upload, true, Clock::now()};
  return Taken(*this, upload);
}

Result<Uploads::Taken, aws::Refusal> Uploads::take(const std::string& id,
                                                   std::string_view repository,
                                                   std::string_view key_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end() || at->second.upload->repository != repository ||
      at->second.upload->key_id != key_id)
    return aws::Refusal{"BLOB_UPLOAD_UNKNOWN", "upload not found", 404};
  if (at->second.taken) return too_many("another request is sending bytes of this upload");
  at->second.taken = true;
  return Taken(*this, at->second.upload);
}

void Uploads::put_back(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  at->second.taken = false;
  at->second.used = Clock::now();
}

void Uploads::remove(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.erase(id);
}

void Uploads::forget_idle(TimePoint now) {
  std::vector<std::shared_ptr<Upload>> gone;  // Destroyed, with files, once the lock is free.
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const bool is_idle = !at->second.taken && now - at->second.used >= limits_.idle_max;
    if (is_idle) gone.push_back(at->second.upload);
    at = is_idle ? entries_.erase(at) : std::next(at);
  }
}

std::size_t Uploads::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

}  // namespace muster::registry
