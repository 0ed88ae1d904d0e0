#include "aws/refusal.h"

#include <algorithm>
#include <array>

#include "base/result.h"

namespace muster::aws {
namespace {

struct Known {
  std::string_view code;
  int status;
  std::string_view message;
};

/// In the order of their codes. The texts are S3's where it is known what S3 says.
constexpr std::array known = {
    Known{"AccessControlListNotSupported", 400, "The bucket does not allow ACLs"},
    Known{"AccessDenied", 403, "Access Denied"},
    Known{"AccessForbidden", 403, "CORSResponse: CORS is not enabled for this bucket."},
    Known{"AuthorizationHeaderMalformed", 400, "The authorization header is malformed."},
    Known{"AuthorizationQueryParametersError", 400,
          "The query parameters of the signature are malformed."},
    Known{"BadDigest", 400, "The Content-MD5 you specified did not match what we received."},
    Known{"BadRequest", 400, "Insufficient information. Origin request header needed."},
    Known{"BucketAlreadyExists", 409,
          "The requested bucket name is not available. Select a different name and try again."},
    Known{"BucketAlreadyOwnedByYou", 409,
          "Your previous request to create the named bucket succeeded and you already own it."},
    Known{"BucketNotEmpty", 409, "The bucket you tried to delete is not empty."},
    Known{"EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size."},
    Known{"EntityTooSmall", 400,
          "Your proposed upload is smaller than the minimum allowed object size."},
    Known{"ExpiredToken", 400, "The provided token has expired."},
    Known{"IllegalLocationConstraintException", 400,
          "The location constraint is incompatible with the region specific endpoint."},
    Known{"IncompleteBody", 400,
          "You did not provide the number of bytes specified by the Content-Length HTTP header."},
    Known{"InternalError", 500, "We encountered an internal error. Please try again."},
    Known{"InvalidAccessKeyId", 403,
          "The AWS Access Key Id you provided does not exist in our records."},
    Known{"InvalidArgument", 400, "Invalid Argument"},
    Known{"InvalidBucketName", 400, "The specified bucket is not valid."},
    Known{"InvalidChunkSizeError", 400, "A chunk is smaller or larger than it may be."},
    Known{"InvalidDigest", 400, "The Content-MD5 you specified is not valid."},
    Known{"InvalidPart", 400,
          "One or more of the specified parts could not be found. The part may not have been "
          "uploaded, or the specified entity tag may not match the part's entity tag."},
    Known{"InvalidPartNumber", 416, "The requested partnumber is not satisfiable"},
    Known{"InvalidPartOrder", 400,
          "The list of parts was not in ascending order. Parts must be ordered by part number."},
    Known{"InvalidRange", 416, "The requested range is not satisfiable"},
    Known{"InvalidRequest", 400, "Invalid Request"},
    Known{"InvalidTag", 400, "The tag provided was not a valid tag."},
    Known{"InvalidToken", 400, "The provided token is malformed or otherwise invalid."},
    Known{"InvalidURI", 400, "Couldn't parse the specified URI."},
    Known{"KeyTooLongError", 400, "Your key is too long"},
    Known{"MalformedTrailerError", 400,
          "The request contained trailing data that was not well-formed or did not conform to our "
          "published schema."},
    Known{"MalformedXML", 400,
          "The XML you provided was not well-formed or did not validate against our published "
          "schema"},
    Known{"MaxMessageLengthExceeded", 400, "Your request was too big."},
    Known{"MetadataTooLarge", 400,
          "Your metadata headers exceed the maximum allowed metadata size"},
    Known{"MethodNotAllowed", 405, "The specified method is not allowed against this resource."},
    Known{"MissingContentLength", 411, "You must provide the Content-Length HTTP header."},
    Known{"MissingRequestBodyError", 400, "Request body is empty."},
    Known{"NoSuchBucket", 404, "The specified bucket does not exist"},
    Known{"NoSuchBucketPolicy", 404, "The bucket policy does not exist"},
    Known{"NoSuchCORSConfiguration", 404, "The CORS configuration does not exist"},
    Known{"NoSuchKey", 404, "The specified key does not exist."},
    Known{"NoSuchLifecycleConfiguration", 404, "The lifecycle configuration does not exist"},
    Known{"NoSuchPublicAccessBlockConfiguration", 404,
          "The public access block configuration was not found"},
    Known{"NoSuchTagSet", 404, "The TagSet does not exist"},
    Known{"NoSuchUpload", 404,
          "The specified upload does not exist. The upload ID may be invalid, or the upload may "
          "have been aborted or completed."},
    Known{"NoSuchVersion", 404, "The specified version does not exist."},
    Known{"NoSuchWebsiteConfiguration", 404,
          "The specified bucket does not have a website configuration"},
    Known{"NotImplemented", 501,
          "A header or query you provided implies functionality that is not implemented"},
    Known{"ObjectLockConfigurationNotFoundError", 404,
          "Object Lock configuration does not exist for this bucket"},
    Known{"OperationAborted", 409,
          "A conflicting conditional operation is currently in progress against this resource. "
          "Try again."},
    Known{"OwnershipControlsNotFoundError", 404, "The bucket ownership controls were not found"},
    Known{"PreconditionFailed", 412,
          "At least one of the pre-conditions you specified did not hold"},
    Known{"ReplicationConfigurationNotFoundError", 404,
          "The replication configuration was not found"},
    Known{"RequestTimeTooSkewed", 403,
          "The difference between the request time and the current time is too large."},
    Known{"RequestTimeout", 400,
          "Your socket connection to the server was not read from or written to within the timeout "
          "period."},
    Known{"ServerSideEncryptionConfigurationNotFoundError", 404,
          "The server side encryption configuration was not found"},
    Known{"SignatureDoesNotMatch", 403,
          "The request signature we calculated does not match the signature you provided. Check "
          "your key and signing method."},
    Known{"SlowDown", 503, "Please reduce your request rate."},
    Known{"XAmzContentChecksumMismatch", 400,
          "The provided 'x-amz-checksum' header does not match what was computed."},
    Known{"XAmzContentSHA256Mismatch", 400,
          "The provided 'x-amz-content-sha256' header does not match what was computed."},
};
static_assert(std::is_sorted(known.begin(), known.end(),
                             [](const Known& a, const Known& b) { return a.code < b.code; }));

}  // namespace

Refusal s3_refusal(std::string_view code) {
  const auto* at = std::lower_bound(known.begin(), known.end(), code,
                                    [](const Known& a, std::string_view b) { return a.code < b; });
  CHECK_THAT(at != known.end() && at->code == code, "one of S3's error codes");
  return {std::string(at->code), std::string(at->message), at->status, {}};
}

Refusal s3_refusal(std::string_view code, std::string message) {
  Refusal refusal = s3_refusal(code);
  refusal.message = std::move(message);
  return refusal;
}

}  // namespace muster::aws
