#pragma once

// Inside s3client/ only: a multipart upload's calls.

#include <memory>
#include <string>
#include <vector>

#include "aws/s3client/s3_call.h"

namespace muster::s3client {

inline constexpr std::size_t parts_max = 10000;  // S3's own limit.

struct StoredPart {
  std::string etag;
  std::string crc32;  ///< base64
};

/// Gives the upload's id.
loop::Task<Result<std::string>> begin_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to);
/// `parts` in order, from the first.
loop::Task<Result<void>> end_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to,
                                       std::string id, std::vector<StoredPart> parts);
/// Stored parts cost money until the upload is completed or aborted. Failures are ignored.
loop::Task<void> abort_multipart(std::shared_ptr<S3State> state, s3wire::S3Url to, std::string id);

}  // namespace muster::s3client
