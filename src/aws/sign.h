#pragma once

#include <string>
#include <string_view>

#include "aws/percent.h"
#include "base/time.h"

namespace muster::aws {

/// AWS Signature Version 4, in the Authorization header.
///
/// Pure: what is signed, the key and the time come in. Source: AWS General Reference, "Signing AWS
/// API requests"; checked against vectors that botocore made (sign_test.cc).

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  ///< Empty: none.

  bool operator==(const Credentials&) const = default;
};

struct SignRequest {
  std::string method;
  std::string path = "/";    ///< As it goes out: encode_path() of the key or of the resource.
  Pairs query;               ///< Not encoded; in any order.
  Pairs headers;             ///< All of them are signed; with "host". Names in any case.
  std::string payload_hash;  ///< Hex of SHA-256, or "UNSIGNED-PAYLOAD".
};

struct SignScope {
  std::string service;  ///< "s3": its paths are encoded once, those of all others twice.
  std::string region;
  UnixMillis now{};
};

/// The headers to add to the request: x-amz-date, Authorization, for S3 x-amz-content-sha256, and
/// x-amz-security-token with temporary credentials. None of them may be logged.
Pairs sign(const SignRequest& request, const SignScope& scope, const Credentials& credentials);

inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";

/// Hex of SHA-256.
std::string sha256_hex(std::string_view bytes);

}  // namespace muster::aws
