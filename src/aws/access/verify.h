#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aws/access/keyring.h"
#include "aws/digest.h"
#include "aws/refusal.h"
#include "aws/request_head.h"
#include "base/time.h"

namespace muster::access {

/// Identifies the sender of a request: AWS Signature Version 4, in the Authorization header or in
/// the query (presigned). Version 2 (SHA-1, and it covers less) is accepted only in the query, for
/// harmless operations: boto3 and others create such URLs by default.
///
/// Pure: head, keys and time are arguments. Source: AWS General Reference, "Signing AWS API
/// requests"; Amazon S3 API Reference, "Authenticating requests". Checked against the vectors of
/// AWS's test suite (verify_test.cc) and signatures that botocore made.

/// What the signature says of the body.
enum class Payload {
  hash,       ///< SHA-256 is Verified::payload_hash: the reader of the body compares it.
  unsigned_,  ///< Nothing.
  chunked_unsigned_trailer,  ///< aws-chunked with a trailer, neither signed.
  chunked_signed,            ///< aws-chunked, each chunk signed.
  chunked_signed_trailer,    ///< And the trailer too.
};

/// What the signatures of chunks hang on. Holds a key: in no log.
struct ChunkSigning {
  aws::Sha256Bytes key{};
  std::string prefix;          ///< "20150830T123600Z\n20150830/us-east-1/s3/aws4_request\n"
  std::string seed_signature;  ///< 64 hex digits: the request's own.
};

struct Verified {
  std::shared_ptr<const AccessKey> key;
  std::string service;  ///< As the scope has it.
  std::string region;   ///< As the scope has it.
  Payload payload = Payload::hash;
  std::string payload_hash;  ///< For Payload::hash: 64 lower-case hex digits.
  ChunkSigning chunks;       ///< For the signed chunked payloads.
  bool presigned = false;
  bool version_2 =
      false;  ///< Good for reading and writing objects alone: see harmless_by_version_2().
};

/// True for what a URL of Version 2 may ask for: to read an object, or write one or a part of one.
bool harmless_by_version_2(s3wire::S3Op op);

/// Why a request could not be authenticated.
enum class AuthFailure {
  missing,           ///< No signature at all.
  two_signatures,    ///< One in the header, one in the query.
  unsupported,       ///< Another algorithm, or Version 2.
  incomplete,        ///< A part of the Authorization header is missing.
  malformed_header,  ///< Credential, date or scope do not fit, or a part is twice or unknown.
  malformed_query,   ///< As malformed_header, in a presigned URL.
  wrong_service,     ///< The scope is of another service than the operation.
  bad_expires,       ///< A presigned URL's: no number, or more than a week.
  no_date,           ///< Neither x-amz-date nor Date, or none that can be read.
  skewed,            ///< More than 15 minutes off.
  expired,           ///< A presigned URL, after its time.
  not_yet_valid,     ///< A presigned URL, before its time.
  unknown_key,       ///< Or a revoked one.
  bad_token,         ///< A session token that is not the key's, or none where it has one.
  expired_token,     ///< The key has expired.
  unsigned_headers,  ///< Host or an x-amz- header is there and not signed.
  bad_payload_hash,  ///< x-amz-content-sha256 is missing (S3) or none of the known forms.
  mismatch,          ///< The signature is another.
  payload_mismatch,  ///< The body's hash is another than the one that was signed.
  denied,            ///< A good signature of a key that may not do this.
};

/// A request that could not be authenticated. The response depends on the dialect: answer_to().
struct AuthRefusal {
  AuthFailure failure{};
  std::string detail;  ///< What S3 adds to its text, or the text itself; no secret.
  aws::Pairs more{};   ///< Further elements of S3's answer.
};

enum class Dialect {
  s3,     ///< XML; "SignatureDoesNotMatch", 403
  json,   ///< AWS JSON and CBOR services: "InvalidSignatureException", 400
  query,  ///< STS, IAM, EC2: "SignatureDoesNotMatch", 403
};
/// Code, text and status as AWS's services of that kind give them. To a bad X-Amz-Expires S3's
/// status is 400; here it is 403, as to one that has passed (ceph/s3-tests holds servers to that).
aws::Refusal answer_to(const AuthRefusal& refused, Dialect dialect);

struct VerifyOptions {
  UnixMillis now{};
  /// The service whose operation the request asks for: a scope for any other is refused, and so is
  /// everything if this is empty.
  std::string_view service{};
  /// 64 lower-case hex digits of the whole body; what services other than S3 sign without saying
  /// so. For S3 it is not looked at (see Verified::payload).
  std::string_view body_sha256{};
  /// The bucket that the Host header names, which Version 2 signs; empty: none.
  std::string_view bucket{};
};

struct Claim;  // What a request says of its signature.

/// A head that may be its key's: the key is known and holds, the time is near, the scope is of the
/// right service, every header is signed that has to be. Who made the signature is not known yet.
struct CheckedHead {
  std::shared_ptr<const AccessKey> key;
  std::shared_ptr<const Claim> claim;  ///< Views into the head.
};

/// Keeps the signing keys it derived (1,024 of them), so that a request costs two hashes. Any
/// number of threads.
class Verifier {
 public:
  /// `keys` outlives this.
  explicit Verifier(const KeyRing& keys) : keys_(keys) {}

  /// All that can be said before the body is there. `service` as in VerifyOptions. What comes back
  /// refers to the head's bytes.
  Result<CheckedHead, AuthRefusal> check_head(const aws::RequestHead& head, UnixMillis now,
                                              std::string_view service) const;
  /// The rest, for the head that was checked. `body_sha256` as in VerifyOptions. A key that was
  /// revoked since is unknown.
  Result<Verified, AuthRefusal> check_signature(const aws::RequestHead& head,
                                                const CheckedHead& checked,
                                                std::string_view body_sha256,
                                                std::string_view bucket = {});
  /// Both at once.
  Result<Verified, AuthRefusal> verify(const aws::RequestHead& head, const VerifyOptions& options);

 private:
  struct HashText {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Derived {
    std::weak_ptr<const AccessKey> of;  ///< A key that was replaced has another secret.
    aws::Sha256Bytes key;
  };
  Result<Verified, AuthRefusal> check_version_2(const aws::RequestHead& head,
                                                const CheckedHead& checked,
                                                std::string_view bucket) const;
  std::optional<aws::Sha256Bytes> kept_key(const std::shared_ptr<const AccessKey>& key,
                                           std::string_view id_and_scope);
  void keep_key(const std::shared_ptr<const AccessKey>& key, std::string_view id_and_scope,
                const aws::Sha256Bytes& signing_key);

  const KeyRing& keys_;
  std::mutex mutex_;
  std::unordered_map<std::string, Derived, HashText, std::equal_to<>> derived_;
};

/// The service of the request's credential scope, not verified: for routing only. Empty if there is
/// no signature that can be read.
std::string claimed_service(const aws::RequestHead& head);

}  // namespace muster::access
