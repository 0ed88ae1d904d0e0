#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "aws/s3client/object_store.h"
#include "net/loop/loop.h"

namespace muster::steward {

/// A place where a job's checkpoints outlive it.
class CheckpointPlace {
 public:
  virtual ~CheckpointPlace() = default;
  /// Stores the file that `path` opens under its path below the host's folder, atomically. If
  /// several hosts store files with one name, the last one wins. Meanwhile the descriptor behind
  /// `path` stays open, and `is_current`, from any thread, returns whether that file still has its
  /// name and its content. Error: also if it does not; the text starts with the destination.
  virtual loop::Task<Result<void>> store(std::string path, std::string relative,
                                         std::function<bool()> is_current) = 0;
  /// The longest supported path.
  virtual std::size_t path_bytes_max() const { return std::numeric_limits<std::size_t>::max(); }
};

/// Below an S3 prefix: a file's key is `to`'s, a '/', and its path.
std::unique_ptr<CheckpointPlace> checkpoints_in_s3(std::shared_ptr<s3client::ObjectStore> store,
                                                   s3wire::S3Url to);

/// Keeps a copy of a folder's files in another place while a job writes them: each file is stored
/// when its writer closes it or moves it there, and once more at the end. Nothing is ever deleted
/// there.
///
/// The folder is a container's: its links are not followed, because they may lead anywhere on the
/// machine. A file that changes while it is being stored is stored again; a mixture of both
/// versions is never kept. A failure while the job runs is reported, and retried at the end. A path
/// that is too long for the place is reported and skipped. Source: CreateTrainingJob's
/// CheckpointConfig.
class CheckpointSync {
 public:
  struct Options {
    std::string folder;                 ///< Exists.
    int uploads = 2;                    ///< At a time.
    std::size_t files_max = 2'000'000;  ///< 60 bytes of memory each, however long their paths are.
    /// Reports stored files, in lines that start with job::checkpoint_stored: soon after the first
    /// file, then at most once a minute.
    std::function<void(const std::string& line)> tell_stored{};
  };
  /// The folder's current content counts as stored, because it was restored. Error: `system`.
  static Result<std::unique_ptr<CheckpointSync>> start(
      loop::Loop& loop, std::unique_ptr<CheckpointPlace> place, Options options,
      std::function<void(const std::string& line)> tell);
  CheckpointSync(const CheckpointSync&) = delete;
  CheckpointSync& operator=(const CheckpointSync&) = delete;
  /// Ends at once, without storing the remaining files.
  ~CheckpointSync();

  /// Stores new and changed files after all writers have ended; call it once. Error: the first file
  /// that could not be stored, and how many others; more files than `files_max`.
  loop::Task<Result<void>> finish();

  std::uint64_t files() const;  ///< The number of files stored so far.
  std::uint64_t bytes() const;

 private:
  struct State;
  explicit CheckpointSync(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::steward
