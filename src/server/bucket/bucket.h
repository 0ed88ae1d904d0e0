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

/// How a write ended that was not refused by the machine.
enum class WriteEnd { done, precondition_failed, no_such_key, no_such_bucket };
/// Decides on a write, given what is there (null: nothing). Empty: any write is fine.
using WriteCheck = std::function<WriteEnd(const ObjectRecord* present)>;

/// A bucket on disk: a file for each object, named by a hash of its key, so that "foo" and
/// "foo/bar" can both exist. Any number of threads; all calls block for the disk.
///
/// A write is visible completely or not at all, even after a power failure, and is on disk when it
/// returns (removals are on disk soon after). Reads take no lock: an opened object does not change.
/// Source: docs/protocols/bucket.md.
class Bucket {
 public:
  /// Opens what create() made and puts right what a crash left. The caller holds the data folder.
  /// `failed`: see BucketLog::Options.
  static Result<std::shared_ptr<Bucket>> open(const Fd& parent, std::string name,
                                              std::function<void(const Error&)> failed = {});
  /// Makes the bucket's folder, in `temporary` at first. Error: `system`, also if something of that
  /// name is there.
  static Result<void> create(const Fd& parent, int temporary, const std::string& name,
                             UnixMillis now);

  const std::string& name() const { return name_; }
  UnixMillis created() const { return created_; }

  /// None if there is no such object. `read_small`: the bytes too, if it is small.
  Result<std::optional<OpenedObject>> find(const std::string& key, bool read_small) const;
  /// `free_min`: see Draft.
  Draft draft(std::uint64_t free_min = 0) const { return Draft(temporary_.get(), free_min); }
  /// Seals the draft with `record` (whose id is set here) and puts it in its place. `by`: the room
  /// that was held for it.
  Result<WriteEnd> put(Draft draft, ObjectRecord& record, const WriteCheck& check,
                       Hold* by = nullptr);
  /// Removing what is not there is done, unless `check` has another opinion.
  Result<WriteEnd> remove(const std::string& key, const WriteCheck& check);
  Result<WriteEnd> set_tags(const std::string& key, const aws::Pairs& tags);

  /// Listings need this first; with many objects it takes a while.
  bool indexed() const { return index_.filled(); }
  Result<void> index();
  s3wire::Listing page(const s3wire::ListQuery& query) const { return index_.page(query); }

  /// From now on `budget` counts what lies in these places, open uploads too. Indexed before.
  void count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans);
  /// Room for an object that is to be put; nothing to be held for without a budget.
  void hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& key) const {
    index_.hold(hold, std::move(budget), key);
  }

  /// Empties the way for the folder's removal: no write succeeds from now on. False if there are
  /// objects.
  Result<bool> retire();
  /// Where multipart uploads are kept.
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

  /// retire() holds them all: the thread sanitizer follows 64 locks of a thread.
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
