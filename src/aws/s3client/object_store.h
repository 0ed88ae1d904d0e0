#pragma once

#include <string>

#include "aws/s3wire/s3_url.h"
#include "net/loop/loop.h"

namespace muster::s3client {

/// Where objects are kept: S3, or a fake in tests. Used from the loop's thread; several calls may
/// be under way at once. It outlives its calls.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Writes the object to `path`, whole or not at all; what was there before is replaced. Errors:
  /// `not_found` (no such key or bucket), `denied`, `timeout`, `closed`, `system`, `protocol`
  /// (wrong length or checksum), `invalid_input`; the text begins with the URL.
  virtual loop::Task<Result<void>> download(s3wire::S3Url from, std::string path) = 0;
  /// Stores the file as it is when the call starts; one that shrinks meanwhile is an error.
  virtual loop::Task<Result<void>> upload(std::string path, s3wire::S3Url to) = 0;
};

}  // namespace muster::s3client
