#include <array>

#include "aws/access/verify.h"
#include "base/result.h"

namespace muster::access {
namespace {

constexpr std::string_view mismatch_text =
    "The request signature we calculated does not match the signature you provided. Check your AWS "
    "Secret Access Key and signing method. Consult the service documentation for details.";

struct Row {
  AuthFailure failure;
  std::string_view s3;
  int s3_status;
  std::string_view json;  ///< 400, all of them.
  std::string_view query;
  int query_status;
  std::string_view s3_text;  ///< Empty: the code's own. A ';' at its end: the detail follows.
  std::string_view text;
};

constexpr std::array rows = {
    Row{AuthFailure::missing, "AccessDenied", 403, "MissingAuthenticationTokenException",
        "MissingAuthenticationToken", 403, "", "Missing Authentication Token"},
    Row{AuthFailure::two_signatures, "InvalidArgument", 400, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403,
        "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter or the "
        "Authorization header should be specified",
        "The request is signed twice: in the Authorization header and in the query."},
    Row{AuthFailure::wrong_service, "AuthorizationHeaderMalformed", 400,
        "InvalidSignatureException", "SignatureDoesNotMatch", 403,
        "The authorization header is malformed;", ""},
    Row{AuthFailure::unsupported, "InvalidRequest", 400, "IncompleteSignatureException",
        "IncompleteSignature", 400,
        "The authorization mechanism you have provided is not supported. Please use "
        "AWS4-HMAC-SHA256.",
        "Unsupported AWS 'algorithm': the request must be signed with AWS4-HMAC-SHA256."},
    Row{AuthFailure::incomplete, "AuthorizationHeaderMalformed", 400,
        "IncompleteSignatureException", "IncompleteSignature", 400,
        "The authorization header is malformed;", ""},
    Row{AuthFailure::malformed_header, "AuthorizationHeaderMalformed", 400,
        "InvalidSignatureException", "SignatureDoesNotMatch", 403,
        "The authorization header is malformed;", "Credential is malformed;"},
    Row{AuthFailure::malformed_query, "AuthorizationQueryParametersError", 400,
        "IncompleteSignatureException", "IncompleteSignature", 400, "", ""},
    Row{AuthFailure::bad_expires, "AuthorizationQueryParametersError", 403,
        "IncompleteSignatureException", "IncompleteSignature", 400, "", ""},
    Row{AuthFailure::no_date, "AccessDenied", 403, "IncompleteSignatureException",
        "IncompleteSignature", 400, "AWS authentication requires a valid Date or x-amz-date header",
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."},
    Row{AuthFailure::skewed, "RequestTimeTooSkewed", 403, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403, "",
        "Signature expired or not yet current: the request's time is more than 15 minutes off;"},
    Row{AuthFailure::expired, "AccessDenied", 403, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403, "Request has expired", "Signature expired"},
    Row{AuthFailure::not_yet_valid, "AccessDenied", 403, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403, "Request is not yet valid", "Signature not yet current"},
    Row{AuthFailure::unknown_key, "InvalidAccessKeyId", 403, "UnrecognizedClientException",
        "InvalidClientTokenId", 403, "", "The security token included in the request is invalid."},
    Row{AuthFailure::bad_token, "InvalidToken", 400, "UnrecognizedClientException",
        "InvalidClientTokenId", 403, "", "The security token included in the request is invalid."},
    Row{AuthFailure::expired_token, "ExpiredToken", 400, "ExpiredTokenException", "ExpiredToken",
        403, "", "The security token included in the request is expired"},
    Row{AuthFailure::unsigned_headers, "AccessDenied", 403, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403,
        "There were headers present in the request which were not signed",
        "These headers must be signed;"},
    Row{AuthFailure::bad_payload_hash, "InvalidArgument", 400, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403,
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, "
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a "
        "valid sha256 value.",
        mismatch_text},
    Row{AuthFailure::mismatch, "SignatureDoesNotMatch", 403, "InvalidSignatureException",
        "SignatureDoesNotMatch", 403, "", mismatch_text},
    Row{AuthFailure::payload_mismatch, "XAmzContentSHA256Mismatch", 400,
        "InvalidSignatureException", "SignatureDoesNotMatch", 403, "", mismatch_text},
    Row{AuthFailure::denied, "AccessDenied", 403, "AccessDeniedException", "AccessDenied", 403, "",
        "Access Denied"},
};

const Row& row_of(AuthFailure failure) {
  for (const Row& row : rows)
    if (row.failure == failure) return row;
  CHECK_THAT(false, "a row for each failure");
  return rows[0];
}

/// `text` as the table has it, with the detail where it goes.
std::string completed(std::string_view text, const std::string& detail) {
  if (text.empty()) return detail;
  std::string line(text);
  if (line.ends_with(';')) line += " " + detail;
  return line;
}

/// The texts that stand alone in S3's answer.
bool detail_is_text(AuthFailure failure) {
  return failure == AuthFailure::malformed_query || failure == AuthFailure::bad_expires ||
         failure == AuthFailure::denied || failure == AuthFailure::unsupported;
}

}  // namespace

aws::Refusal answer_to(const AuthRefusal& refused, Dialect dialect) {
  const Row& row = row_of(refused.failure);
  if (dialect == Dialect::s3) {
    aws::Refusal error = aws::s3_refusal(row.s3);
    error.status = row.s3_status;
    error.more = refused.more;
    if (!row.s3_text.empty()) error.message = completed(row.s3_text, refused.detail);
    if (detail_is_text(refused.failure) && !refused.detail.empty()) error.message = refused.detail;
    return error;
  }
  std::string text = completed(row.text, refused.detail);
  const bool own_text =
      refused.failure == AuthFailure::denied || refused.failure == AuthFailure::unsupported;
  if (own_text && !refused.detail.empty()) text = refused.detail;
  if (dialect == Dialect::json) return {std::string(row.json), std::move(text), 400, {}};
  return {std::string(row.query), std::move(text), row.query_status, {}};
}

}  // namespace muster::access
