#pragma once

#include <functional>
#include <memory>
#include <string>

#include "loop/loop.h"
#include "s3client/store.h"

namespace muster::steward {

/// Keeps a folder's files in S3 while a job writes them: each goes when whoever wrote it has closed
/// it or moved it there, and once more at the end. Nothing is ever deleted from S3.
///
/// The folder is a container's: its links are not followed, for they may lead anywhere on the
/// machine. A file that changes while it is uploaded goes again; no mixture of both is stored
/// (s3client/, S3Client::upload). A failure while the job runs is told and tried again at the end.
/// Source: CreateTrainingJob's CheckpointConfig.
class CheckpointSync {
 public:
  struct Options {
    std::string folder;  ///< Exists.
    s3wire::S3Url to{};  ///< A file's key is this one's, a '/', and its path below the folder.
    int uploads = 2;     ///< At a time.
  };
  /// What is in the folder now is taken as stored already (it was restored). Error: `system`.
  static Result<std::unique_ptr<CheckpointSync>> start(
      loop::Loop& loop, std::shared_ptr<s3client::ObjectStore> store, Options options,
      std::function<void(const std::string& line)> tell);
  CheckpointSync(const CheckpointSync&) = delete;
  CheckpointSync& operator=(const CheckpointSync&) = delete;
  /// Ends at once: what was not uploaded is not.
  ~CheckpointSync();

  /// Uploads what is new or changed and not yet in S3, when nobody writes any more; once. Error:
  /// the first object that could not be stored, and how many others.
  loop::Task<Result<void>> finish();

  std::uint64_t files() const;  ///< How many were stored so far.
  std::uint64_t bytes() const;

 private:
  struct State;
  explicit CheckpointSync(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::steward
