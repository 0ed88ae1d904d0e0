#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aws/refusal.h"
#include "aws/request_head.h"
#include "aws/s3wire/checksum.h"
#include "aws/s3wire/s3_url.h"
#include "aws/sign.h"
#include "base/time.h"

namespace muster::s3wire {

/// A request to S3, read: what is asked of which object.
///
/// Pure: a head in, values out. Source: Amazon S3 API Reference, the operations' request syntax.

enum class S3Op {
  list_buckets,
  // About a bucket.
  create_bucket,
  head_bucket,
  delete_bucket,
  get_bucket_location,
  get_bucket_versioning,
  get_bucket_acl,
  put_bucket_acl,
  get_bucket_setting,     ///< S3Operation::selector says which: "cors", …; see setting_xml().
  delete_bucket_setting,  ///< As above.
  list_objects,           ///< Version 1.
  list_objects_v2,
  list_object_versions,
  list_multipart_uploads,
  delete_objects,
  // About an object.
  put_object,
  get_object,
  head_object,
  delete_object,
  copy_object,
  get_object_acl,
  put_object_acl,
  get_object_attributes,
  get_object_tagging,
  put_object_tagging,
  delete_object_tagging,
  create_multipart_upload,
  upload_part,
  upload_part_copy,
  complete_multipart_upload,
  abort_multipart_upload,
  list_parts,
};
/// All that is served: "AbortMultipartUpload", …, sorted.
std::vector<std::string_view> operation_names();

/// "bytes=5-9": {5, 9}; "bytes=5-": {5, none}; "bytes=-5": {none, 5}.
struct AskedRange {
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> last;  ///< Without `first`: how many bytes of the end.
};
struct ByteSpan {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  bool operator==(const ByteSpan&) const = default;
};
/// Where the range lies in an object of `size` bytes; none if it lies outside: InvalidRange, 416.
std::optional<ByteSpan> resolved(const AskedRange& range, std::uint64_t size);
/// "bytes 5-9/100", for Content-Range.
std::string content_range(const ByteSpan& span, std::uint64_t size);

struct Conditions {
  std::string if_match;  ///< As the header has it: "*", or ETags with or without quotes.
  std::string if_none_match;
  std::optional<UnixMillis> if_modified_since;
  std::optional<UnixMillis> if_unmodified_since;
  // DeleteObject only.
  std::optional<std::uint64_t> if_match_size{};
  std::optional<UnixMillis> if_match_modified{};

  bool none() const {
    return if_match.empty() && if_none_match.empty() && !if_modified_since &&
           !if_unmodified_since && !if_match_size && !if_match_modified;
  }
};
/// What the conditions of a request come to.
enum class Precondition { proceed, not_modified, failed };
/// For GET and HEAD of an object that is there, by RFC 9110 section 13.2.2 (If-Match before
/// If-Unmodified-Since, and so on). `etag` without quotes.
Precondition read_precondition(const Conditions& conditions, std::string_view etag,
                               UnixMillis modified);
/// True if `if_range` is empty or names exactly this object, by its ETag (compared strongly) or its
/// time: else the range is not heeded. Source: RFC 9110 section 13.1.5.
bool range_holds(std::string_view if_range, std::string_view etag, UnixMillis modified);
/// For a copy's source, as read_precondition(), but all that fails is 412.
Precondition copy_precondition(const Conditions& conditions, std::string_view etag,
                               UnixMillis modified);
/// For PUT, CompleteMultipartUpload and DELETE: `etag` none where no object is. The answer to
/// `failed` is PreconditionFailed; If-Match on nothing is NoSuchKey (to DELETE: done), which is the
/// caller's to say.
Precondition write_precondition(const Conditions& conditions, std::optional<std::string_view> etag);

/// What is kept with an object and given back with it.
struct ObjectMetadata {
  aws::Pairs
      headers;      ///< content-type, cache-control, …: names in lower case, values as they came.
  aws::Pairs user;  ///< x-amz-meta-: names in lower case without that.
  aws::Pairs tags;

  bool operator==(const ObjectMetadata&) const = default;
};

/// A checksum that a client sends with the bytes, or says that it will.
struct GivenChecksum {
  Checksum kind = Checksum::crc32;
  /// The digest's bytes, also of a composite one ("…-3"); empty: it comes in the trailer, or S3 is
  /// to make it.
  std::string value;

  bool operator==(const GivenChecksum&) const = default;
};

struct ListQuery {
  std::string prefix;
  std::string delimiter;
  std::string marker;        ///< marker, start-after, key-marker: as given, for the answer.
  std::string continuation;  ///< continuation-token, version-id-marker, upload-id-marker: as given.
  std::string after;         ///< What both of them mean: the page begins behind this.
  std::uint64_t max = 1000;  ///< max-keys and the like: at most 1000; max-buckets: 10,000.
  std::uint64_t part_marker = 0;  ///< part-number-marker.
  std::string region{};           ///< bucket-region of ListBuckets: in no other one.
  /// Lists, of the keys that begin with `prefix`, that one alone and those in the folder of that
  /// name: not "run10" for "run1". The server's own, of no request.
  bool named_only = false;
  bool url_encoding = false;
  bool fetch_owner = false;
  bool has_marker = false;  ///< A marker was given, though it may be empty.
  bool has_continuation = false;
};

struct S3Operation {
  S3Op op{};
  std::string_view name;      ///< "PutObject"
  std::string_view selector;  ///< The query parameter that asks for it: "tagging"; empty: none.
  std::string bucket;
  std::string key;                  ///< Decoded: bytes.
  std::optional<AskedRange> range;  ///< GET, HEAD; of a part copy: of the source.
  std::string if_range;             ///< The header, as it came; empty: none.
  Conditions conditions;
  ListQuery list;

  // What a body brings.
  std::optional<std::uint64_t> content_bytes;  ///< Content-Length, or what aws-chunked decodes to.
  bool aws_chunked = false;
  std::string trailer;  ///< x-amz-trailer, in lower case.
  std::optional<GivenChecksum> checksum;
  bool whole_checksum = false;             ///< x-amz-checksum-type: FULL_OBJECT.
  std::optional<std::string> content_md5;  ///< 16 bytes.
  ObjectMetadata metadata;

  std::string upload_id;
  std::optional<int> part_number;            ///< 1 to 10,000; GET and HEAD may ask for one too.
  std::optional<std::uint64_t> whole_bytes;  ///< x-amz-mp-object-size.

  std::optional<S3Url> copy_source;
  Conditions copy_conditions;
  bool replace_metadata = false;  ///< x-amz-metadata-directive: REPLACE.
  bool replace_tags = false;

  bool want_checksum = false;   ///< x-amz-checksum-mode: ENABLED.
  aws::Pairs response_headers;  ///< response-content-type and the like: lower-case header names.
  std::vector<std::string> attributes;  ///< GetObjectAttributes: "ETag", "ObjectSize", …
};

/// Reads a head. Errors carry S3's codes: InvalidBucketName, KeyTooLongError, InvalidArgument,
/// InvalidDigest, InvalidRange (of a copy), MetadataTooLarge, MethodNotAllowed, InvalidURI,
/// InvalidTag, NotImplemented with the name of the parameter or header that is not served.
/// MissingContentLength is the caller's (it knows the transfer coding).
/// `bucket`: that of the Host header, see bucket_of_host(); empty: the path names it.
Result<S3Operation, aws::Refusal> read_s3_request(const aws::RequestHead& head,
                                                  std::string_view bucket);

/// Uploads by a browser's form are not served.
aws::Refusal no_forms();

/// 3 to 63 of a-z, 0-9, '.' and '-', no IP address. Source: S3 User Guide, bucket naming rules.
bool is_bucket_name(std::string_view name);

}  // namespace muster::s3wire
