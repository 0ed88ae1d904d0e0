#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/fd.h"
#include "bucket/bucket_log_entry.h"

namespace muster::bucket {

/// Makes small objects durable many at a time: their files are written and put in their places
/// without a sync, what they hold is appended here, and one sync of this is for all that wait.
/// Any number of threads; blocks for the disk.
///
/// Two files take turns. Once one is full, all that it speaks of is brought to disk (syncfs(2), in
/// a thread of its own) and it is empty again; the other goes on meanwhile.
/// Source: docs/protocols/bucket.md, docs/decisions/0019-small-objects.md.
class BucketLog {
 public:
  struct Options {
    std::uint64_t bytes_max = 32u << 20;  ///< Limit of each of the two files.
  };
  /// `folder` (a descriptor, on the file system of the objects) holds the two files and outlives
  /// this. What they say is read by replay(), which comes first of all. Error: `system`.
  static Result<std::unique_ptr<BucketLog>> open(int folder, Options options);
  BucketLog(const BucketLog&) = delete;
  BucketLog& operator=(const BucketLog&) = delete;
  /// Waits for the disk if it is being asked to take what a full file spoke of.
  ~BucketLog();

  /// Tells what became of each file, the last only, and empties the log when the disk has it.
  /// `apply` sees to it that things are so (after a power cut they may not be) and need not sync.
  Result<void> replay(const std::function<Result<void>(const LogEntry&)>& apply);

  /// Says what stands at `file` now; callers hold the lock of its key. For wait(). Error: `closed`:
  /// there is no room at the moment, or the log has failed: the caller syncs the file itself.
  Result<std::uint64_t> written(const std::string& file, std::string_view bytes);
  /// Says that a file was removed or (`settled`) brought to disk otherwise. Nothing to be said, nor
  /// to wait for: none. Error: `system`.
  Result<std::optional<std::uint64_t>> changed(LogKind kind, const std::string& file);
  /// True if the log says something of that file.
  bool holds(const std::string& file) const;
  /// Returns once that entry, and all before it, has reached the disk. Error: `system`.
  Result<void> wait(std::uint64_t entry);

 private:
  struct Half {
    Fd file;
    LogFilling filling;
    std::uint64_t size = 0;
    std::uint64_t room = 0;  ///< Bytes that the file has: written once, they cost no more metadata.
    bool unsynced = false;
    bool settling = false;                  ///< Full; the disk is taking what it speaks of.
    std::unordered_set<std::size_t> files;  ///< Hashes of the names of those it speaks of.
  };

  BucketLog(int folder, Options options) : folder_(folder), options_(options) {}
  Result<void> make_room(Half& half, std::uint64_t bytes);
  Result<std::uint64_t> append(const LogEntry& entry);
  bool holds_hash(std::size_t hash) const;
  bool turn();
  void begin(Half& half);
  void settle(Half& half);
  Result<void> empty(Half& half);
  void sync();

  const int folder_;
  const Options options_;
  mutable std::mutex mutex_;
  std::array<Half, 2> halves_;
  std::size_t current_ = 0;
  std::uint64_t fillings_ = 0;
  std::uint64_t last_ = 0;  ///< Entries so far.
  bool closed_ = false;     ///< The disk failed: takes no more objects, and forgets nothing.
  // Beside the mutex, so that those who wait do not queue for it when they wake.
  std::atomic<std::uint64_t> durable_ = 0;  ///< Entries that are on disk.
  std::atomic<std::uint32_t> syncs_ = 0;    ///< Syncs that came to their end: what is waited on.
  std::atomic<bool> syncing_ = false;
  std::atomic<bool> failed_ = false;  ///< The disk failed to take what is waited for.
  std::thread settler_;
};

}  // namespace muster::bucket
