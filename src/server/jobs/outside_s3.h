#pragma once

#include <string>

#include "aws/sign.h"
#include "base/command.h"
#include "base/json.h"
#include "base/result.h"
#include "net/http/server.h"

namespace muster::jobs {

/// An S3 service other than the server's own: "s3" of its config (docs/protocols/server-config.md).
/// Jobs read and write there; the server stores no objects.
struct OutsideS3 {
  std::string endpoint;
  std::string region;            ///< Empty: the server's own.
  std::string credentials_file;  ///< In the form of ~/.aws/credentials, private.
  std::string ca_file;           ///< PEM: a CA that the machine does not trust; may be empty.

  bool operator==(const OutsideS3&) const = default;
};

/// Pure. Error: `invalid_input`, naming the key.
Result<OutsideS3> outside_s3_from(const Json& json);

/// The keys currently in the file. Error: `invalid_input`: no default profile with both keys; those
/// of read_private().
Result<aws::Credentials> credentials_of(const OutsideS3& s3);

/// The settings for the server's own S3 client. Pure.
Env environment_for(const OutsideS3& s3);

/// Answers S3 requests to this server.
loop::Task<void> answer_no_s3(http::Exchange& exchange);

}  // namespace muster::jobs
