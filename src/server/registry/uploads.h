#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "aws/refusal.h"
#include "base/time.h"
#include "image/kept/store.h"

namespace muster::registry {

/// A blob that a client is sending, over one or several requests.
struct Upload {
  Upload(std::string with_id, std::string to, std::string key, image::BlobDraft with_draft)
      : id(std::move(with_id)),
        repository(std::move(to)),
        key_id(std::move(key)),
        draft(std::move(with_draft)) {}

  const std::string id;  ///< 32 hex digits that cannot be guessed.
  const std::string repository;
  const std::string key_id;
  image::BlobDraft draft;  ///< Only for the caller that took the upload.
};

/// Running uploads, each of the key that started it. They end with the process; their files are
/// removed then, or at the next start. Any number of threads.
class Uploads {
 public:
  struct Limits {
    std::size_t of_key_max = 64;
    std::size_t all_max = 512;
    Duration idle_max = std::chrono::hours(1);  ///< Without a request.
  };
  explicit Uploads(Limits limits) : limits_(limits) {}

  /// An upload that only this request works on; released for the next request on destruction.
  class Taken {
   public:
    Taken(Uploads& of, std::shared_ptr<Upload> upload) : of_(&of), upload_(std::move(upload)) {}
    Taken(Taken&&) noexcept = default;
    Taken& operator=(Taken&&) = delete;
    ~Taken();
    Upload& operator*() const { return *upload_; }
    Upload* operator->() const { return upload_.get(); }
    const std::shared_ptr<Upload>& shared() const { return upload_; }
    /// Releases it early: before a response, after which the client may send the next request at
    /// once.
    void release();
    /// Removes it, because it is complete or was aborted.
    void end();

   private:
    Uploads* of_;
    std::shared_ptr<Upload> upload_;
  };

  /// Refusal: TOOMANYREQUESTS.
  Result<Taken, aws::Refusal> begin(std::string repository, std::string key_id,
                                    image::BlobDraft draft);
  /// Refusals: BLOB_UPLOAD_UNKNOWN, also for another key's and another repository's;
  /// TOOMANYREQUESTS while another request works on it.
  Result<Taken, aws::Refusal> take(const std::string& id, std::string_view repository,
                                   std::string_view key_id);
  /// Removes uploads that have not been used for a long time.
  void forget_idle(TimePoint now);
  std::size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<Upload> upload;
    bool taken = false;
    TimePoint used{};
  };
  void put_back(const std::string& id);
  void remove(const std::string& id);

  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace muster::registry
