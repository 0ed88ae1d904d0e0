#pragma once

#include <cstdint>
#include <memory>

#include "aws/retry.h"
#include "aws/s3client/object_store.h"
#include "base/command.h"
#include "base/log.h"

namespace muster::s3client {

struct S3State;

/// The server's disk is full: later there may be room.
bool is_full(const Error& error);

/// Objects in S3, or on a server with the same protocol.
///
/// Broken or silent connections, 5xx and "slow down" are retried with growing pauses; a download
/// continues where it stopped, if the object has not changed. Wrong credentials, missing keys and
/// refusals are errors at once. Received data is checked against the server's checksum. Source:
/// docs/decisions/0008-s3-client.md.
class S3Client final : public ObjectStore {
 public:
  struct Options {
    Duration connect_max = std::chrono::seconds(10);  ///< For one connection, TLS included.
    Duration idle_max = std::chrono::seconds(60);     ///< Without a byte either way.
    aws::RetryOptions retry;
    std::uint64_t part_bytes = 16u << 20;  ///< Larger files go up in parts of this size.
  };
  /// The options that `env` sets: MUSTER_S3_IDLE. Error: `invalid_input`.
  static Result<Options> options_from(const Env& env);

  /// Reads endpoint, region and sources of credentials from `env`; does not connect yet. `log` gets
  /// one warning for each retry. Error: `invalid_input` (an endpoint that is not a URL).
  static Result<std::unique_ptr<S3Client>> open(loop::Loop& loop, const Env& env, const Log& log);
  static Result<std::unique_ptr<S3Client>> open(loop::Loop& loop, const Env& env, const Log& log,
                                                Options options);
  ~S3Client() override;

  loop::Task<Result<void>> download(s3wire::S3Url from, std::string path) override;
  loop::Task<Result<void>> upload(std::string path, s3wire::S3Url to) override;

  /// A small object, 4 MiB at most. Errors: as download().
  loop::Task<Result<std::string>> read(s3wire::S3Url from);

  /// For the calls of s3_list.h, fetch_folder.h and stream_upload.h; it outlives the client.
  const std::shared_ptr<S3State>& state() const { return state_; }

 private:
  explicit S3Client(std::shared_ptr<S3State> state);
  std::shared_ptr<S3State> state_;
};

}  // namespace muster::s3client
