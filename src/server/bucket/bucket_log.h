#pragma once

#include <sys/types.h>
#include <unistd.h>

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
#include <utility>
#include <vector>

#include "base/fd.h"
#include "server/bucket/bucket_log_entry.h"

namespace muster::bucket {

/// Makes small objects durable in groups: their files are written and moved to their places without
/// a sync, their content is appended here, and one sync of this log serves all waiting writers. Any
/// number of threads; blocks for the disk.
///
/// A failed sync or write is permanent (the state of the files on disk is then unknown): the first
/// error is reported once, and every later call returns it; the log accepts and forgets nothing
/// more. A full disk is not a failure: there may be space later.
///
/// Two files alternate. Once one is full, all files that it refers to are synced (syncfs(2), on a
/// separate thread), and it is emptied; the other one is used meanwhile. Source:
/// docs/protocols/bucket.md, docs/decisions/0019-small-objects.md.
class BucketLog {
 public:
  /// The disk operations: like the system calls, including errno. On any thread.
  struct Disk {
    std::function<ssize_t(int, const void*, std::size_t, off_t)> write = ::pwrite;
    std::function<int(int)> sync = ::fdatasync;
    std::function<int(int)> sync_all = ::syncfs;
  };
  struct Options {
    std::uint64_t bytes_max = 32u << 20;  ///< Limit of each of the two files.
    Disk disk = {};
    /// Called once when the disk has failed. From any thread; must not call the log.
    std::function<void(const Error&)> failed = {};
  };
  /// `folder` (a descriptor, on the file system of the objects) contains the two files and outlives
  /// this. replay() reads them and must be called first. Error: `system`.
  static Result<std::unique_ptr<BucketLog>> open(int folder, Options options);
  BucketLog(const BucketLog&) = delete;
  BucketLog& operator=(const BucketLog&) = delete;
  /// Waits for a running sync of the files that a full log refers to.
  ~BucketLog();

  /// Passes the last state of each file to `apply`, and empties the log once everything is on disk.
  /// `apply` restores that state, which a power failure may have lost; it need not sync.
  Result<void> replay(const std::function<Result<void>(const LogEntry&)>& apply);

  /// Logs the current content of `file`; callers hold the lock of its key. The result is for
  /// wait(). Error: `closed`: there is no space now, or the disk has failed: the caller syncs the
  /// file itself.
  Result<std::uint64_t> written(const std::string& file, std::string_view bytes);
  /// Logs that a file was removed or (`settled`) synced separately. None if nothing had to be
  /// logged or waited for. Errors: `closed` if the disk is full; the disk's first error.
  Result<std::optional<std::uint64_t>> changed(LogKind kind, const std::string& file);
  /// True if the log has an entry of that file.
  bool holds(const std::string& file) const;
  /// Returns once that entry, and all before it, has reached the disk. Error: the disk's first
  /// error.
  Result<void> wait(std::uint64_t entry);

 private:
  struct Half {
    Fd file;
    LogFilling filling;
    std::uint64_t size = 0;
    std::uint64_t room = 0;  ///< Allocated: writing there changes no metadata.
    bool unsynced = false;
    bool settling = false;                  ///< Full; the files that it refers to are being synced.
    std::unordered_set<std::size_t> files;  ///< Hashes of the names of these files.
  };

  BucketLog(int folder, Options options) : folder_(folder), options_(std::move(options)) {}
  Result<void> write_at(int fd, std::string_view bytes, std::uint64_t at) const;
  Result<void> sync_data(int fd) const;
  Result<void> keep(Result<void> done);
  Result<void> make_room(Half& half, std::uint64_t bytes);
  Result<std::uint64_t> append(const LogEntry& entry);
  Result<void> put(Half& half, std::string_view bytes);
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
  std::uint64_t last_ = 0;       ///< Entries so far.
  std::optional<Error> broken_;  ///< The disk's first error.
  // Outside of the mutex, so that waiting threads do not queue for it when they wake.
  std::atomic<std::uint64_t> durable_ = 0;  ///< Entries that are on disk.
  std::atomic<std::uint32_t> syncs_ = 0;    ///< Completed syncs, on which threads wait.
  std::atomic<bool> syncing_ = false;
  std::atomic<bool> failed_ = false;  ///< True if `broken_` is set.
  std::thread settler_;
};

}  // namespace muster::bucket
