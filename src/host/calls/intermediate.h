#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "aws/s3client/object_store.h"
#include "base/command.h"
#include "base/log.h"
#include "base/time.h"
#include "net/loop/loop.h"

namespace muster::calls {

/// The time limit for uploading the remaining intermediate output after the job has ended.
inline constexpr Duration upload_wait = std::chrono::minutes(30);

/// Intermediate output: uploads files below a folder to S3 while a program writes them.
///
/// A file is uploaded when its writer closes it, or when it is moved there. Each time it is copied
/// first, so that the program may continue to write. A file that no longer exists by then is
/// skipped; nothing is ever deleted from S3. A failure is a line in the log, and does not fail the
/// job. Source: the reference's intermediate_output (folder, keys, when it does nothing).
class Intermediate {
 public:
  struct Options {
    std::string folder;             ///< <base>/output/intermediate
    std::string s3_output;          ///< sagemaker_s3_output: "s3://bucket/start"; may be empty.
    std::string job_name;           ///< TRAINING_JOB_NAME; may be empty.
    std::size_t copies_max = 1000;  ///< Copies whose upload has not ended; then copying waits.
  };

  /// Starts if it is needed: `s3_output` is set and `folder` does not exist (an existing folder is
  /// handled by another process). Creates the folder; with "file://…" that is all. Null if it is
  /// not needed. Errors: `invalid_input`: another scheme, no bucket, invalid credentials or
  /// endpoint; `system`.
  static Result<std::unique_ptr<Intermediate>> start(loop::Loop& loop, const Env& env,
                                                     const Log& log, Options options);
  /// As above, over a store of the caller's.
  static Result<std::unique_ptr<Intermediate>> start(loop::Loop& loop,
                                                     std::shared_ptr<s3client::ObjectStore> store,
                                                     const Log& log, Options options);
  Intermediate(const Intermediate&) = delete;
  Intermediate& operator=(const Intermediate&) = delete;
  /// Ends at once, without uploading the remaining files.
  ~Intermediate();

  /// Uploads all files that are not yet in S3, then ends. Call it once, when all writers have
  /// ended. Files that remain at the deadline are counted in one line of the log.
  loop::Task<void> finish(TimePoint deadline);

 private:
  struct State;
  explicit Intermediate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The key of a file: where S3 keeps it below the bucket. `relative`: below the folder.
std::string intermediate_key(const std::string& start, const std::string& job_name,
                             const std::string& relative);

}  // namespace muster::calls
