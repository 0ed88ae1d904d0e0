#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "aws/s3client/s3_client.h"
#include "base/fd.h"

namespace muster::s3client {

/// Bytes that a request can send as a file: a memfd, or a file without a name.
struct Blob {
  Fd fd;
  std::uint64_t bytes = 0;        ///< The file may be longer.
  const char* at = nullptr;       ///< Where the bytes are in memory, if mapped.
  std::shared_ptr<void> owner{};  ///< Owns memory that is lent; kept for as long as it is needed.
};
/// An empty one, in memory or on the disk of `folder`. Error: `system`.
Result<Blob> make_blob(const std::string& folder = {});
Result<void> append(Blob& blob, std::string_view bytes);
/// Copies all of `from` to the end of `to`.
Result<void> append(Blob& to, const Blob& from);

/// An object that is uploaded while it is being written; it is not visible before finish(). Small
/// ones use one PUT, others a multipart upload, several parts at a time.
class StreamUpload {
 public:
  /// S3 refuses smaller parts, except for the last.
  static constexpr std::uint64_t part_bytes_min = 5u << 20;

  StreamUpload(std::shared_ptr<S3State> state, s3wire::S3Url to, int connections = 3);
  StreamUpload(const StreamUpload&) = delete;
  StreamUpload& operator=(const StreamUpload&) = delete;
  /// Ends what is under way; call abort() first unless finish() was.
  ~StreamUpload();

  /// Takes the next part: of part_bytes_min or more, unless it is the last. Waits while
  /// `connections` are busy. Errors, also of earlier parts: those of ObjectStore::upload().
  loop::Task<Result<void>> add(Blob part);
  /// Stores the object; `add` at least one part before, which may be empty.
  loop::Task<Result<void>> finish();
  /// Parts that were stored cost money until then.
  loop::Task<void> abort();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace muster::s3client
