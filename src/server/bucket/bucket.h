#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/bucket/bucket_draft.h"
#include "server/bucket/bucket_index.h"
#include "server/bucket/bucket_log.h"
#include "server/bucket/upload_index.h"

namespace muster::bucket {

/// The result of a write that did not fail.
enum class WriteEnd { done, precondition_failed, no_such_key, no_such_bucket };
/// Decides whether a write is allowed, given the existing object (null: none). Empty: every write
/// is allowed.
using WriteCheck = std::function<WriteEnd(const ObjectRecord* present)>;

/// A bucket on disk: a file for each object, named by a hash of its key, so that "foo" and
/// "foo/bar" can both exist. Any number of threads; all calls block for the disk.
///
/// A write is visible completely or not at all, even after a power failure, and is on disk when it
/// returns (removals are on disk soon after). Reads take no lock: an opened object does not change.
/// Source: docs/protocols/bucket.md.
class Bucket {
 public:
  /// Opens a bucket of create() and repairs the effects of a crash. The caller holds the data
  /// folder's lock. `failed`: see BucketLog::Options.
  static Result<std::shared_ptr<Bucket>> open(const Fd& parent, std::string name,
                                              std::function<void(const Error&)> failed = {});
  /// Creates the bucket's folder, first in `temporary`. Error: `system`, also if the name exists.
  static Result<void> create(const Fd& parent, int temporary, const std::string& name,
                             UnixMillis now);

  const std::string& name() const { return name_; }
  UnixMillis created() const { return created_; }

  /// None if there is no such object. `read_small`: also reads the bytes of a small object.
  Result<std::optional<OpenedObject>> find(const std::string& key, bool read_small) const;
  /// `free_min`: see Draft.
  Draft draft(std::uint64_t free_min = 0) const { return Draft(temporary_.get(), free_min); }
  /// Seals the draft with `record` (whose id is set here) and moves it to its place. `by`: the
  /// reservation for it.
  Result<WriteEnd> put(Draft draft, ObjectRecord& record, const WriteCheck& check,
                       Hold* by = nullptr);
  /// Removing a missing object succeeds, unless `check` refuses it.
  Result<WriteEnd> remove(const std::string& key, const WriteCheck& check);
  Result<WriteEnd> set_tags(const std::string& key, const aws::Pairs& tags);

  /// Call before listings; slow with many objects.
  bool indexed() const { return index_.filled(); }
  Result<void> index();
  s3wire::Listing page(const s3wire::ListQuery& query) const { return index_.page(query); }

  /// From now on, `budget` counts the objects and open uploads in these places. Call after
  /// indexing.
  void count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans);
  /// Reserves space for an object; does nothing without a budget.
  void hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& key) const {
    index_.hold(hold, std::move(budget), key);
  }

  /// Prepares the folder's removal: from now on no write succeeds. False if there are objects.
  Result<bool> retire();
  /// The folder of multipart uploads.
  int uploads_folder() const { return uploads_.get(); }
  UploadIndex& upload_index() { return upload_index_; }
  int temporary_folder() const { return temporary_.get(); }
  /// Held while an upload is completed.
  std::mutex& upload_mutex(const std::string& upload_id);

 private:
  explicit Bucket(std::string name) : name_(std::move(name)), index_(name_) {}
  Result<void> recover();
  Result<void> replay(const LogEntry& entry) const;
  Result<std::optional<std::uint64_t>> note(Draft& draft, const std::string& file);
  std::mutex& stripe(const std::string& file) const;
  Result<WriteEnd> checked(const std::string& file, const WriteCheck& check) const;
  Result<void> add_tags(OpenedObject& object, const std::string& file) const;
  Result<void> scan(const std::function<void(const ObjectRecord&)>& found) const;
  Result<void> note_tagging();

  /// retire() holds all of them, and the thread sanitizer supports at most 64 locks per thread.
  static constexpr std::size_t stripes_max = 48;

  std::string name_;
  UnixMillis created_{};
  Fd folder_;
  Fd objects_;
  Fd uploads_;
  Fd temporary_;
  std::unique_ptr<BucketLog> log_;
  BucketIndex index_;
  UploadIndex upload_index_;
  mutable std::array<std::mutex, stripes_max> stripes_;
  std::array<std::mutex, 16> upload_mutexes_;
  std::atomic<bool> tagged_ = false;   ///< At least one object has tags in a separate file.
  std::atomic<bool> retired_ = false;  ///< Set with all stripes held.
};

}  // namespace muster::bucket
