#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/refusal.h"
#include "aws/s3wire/checksum.h"
#include "aws/s3wire/s3_listing.h"
#include "aws/s3wire/s3_request.h"
#include "base/dates.h"
#include "base/time.h"

namespace muster::s3wire {

/// What S3 answers: XML texts, and the headers of an object.
///
/// Pure: values in, texts out. All texts are well-formed XML, whatever bytes keys have: what XML
/// 1.0 cannot hold becomes U+FFFD (clients ask for encoding-type=url to see the bytes).

/// `resource`: "/bucket/key".
std::string error_xml(const aws::Refusal& error, std::string_view resource,
                      std::string_view request_id);

struct BucketEntry {
  std::string name;
  UnixMillis created{};
};
/// `buckets` sorted by name: the page by prefix, place and max is chosen here.
std::string list_buckets_xml(const ListQuery& list, const std::vector<BucketEntry>& buckets);
/// `region` empty or "us-east-1": an empty element, as AWS has it.
std::string location_xml(std::string_view region);
std::string versioning_xml();  ///< Never set.
std::string acl_xml();         ///< The owner has full control.

/// For list_objects, list_objects_v2 and list_object_versions (each object has the version "null").
std::string listing_xml(const S3Operation& asked, const Listing& listing);

std::string copy_object_xml(std::string_view etag, UnixMillis modified,
                            const std::optional<GivenChecksum>& checksum);
std::string copy_part_xml(std::string_view etag, UnixMillis modified,
                          const std::optional<GivenChecksum>& checksum);

std::string create_upload_xml(std::string_view bucket, std::string_view key,
                              std::string_view upload_id);

/// A checksum that an object has.
struct KeptChecksum {
  Checksum kind = Checksum::crc64nvme;
  std::string text;   ///< As in headers: base64, composite ones with "-N".
  bool whole = true;  ///< FULL_OBJECT, else COMPOSITE.

  bool operator==(const KeptChecksum&) const = default;
};
std::string complete_upload_xml(std::string_view location, std::string_view bucket,
                                std::string_view key, std::string_view etag,
                                const std::optional<KeptChecksum>& checksum);

struct PartEntry {
  int number = 0;
  std::string etag;
  std::uint64_t size = 0;
  UnixMillis modified{};
  std::optional<GivenChecksum> checksum;
};
/// `parts` sorted by number and already those behind part-number-marker; at most one more than
/// max-parts (which makes it truncated).
struct PartsPage {
  std::vector<PartEntry> parts;
  std::optional<Checksum> checksum;  ///< The algorithm that the upload was begun with.
  bool whole_checksum = false;
};
std::string list_parts_xml(const S3Operation& asked, const PartsPage& page);

struct UploadEntry {
  std::string key;
  std::string upload_id;
  UnixMillis begun{};
};
/// `uploads` in any order: sorted, filtered (prefix, delimiter, markers) and paged here.
std::string list_uploads_xml(const S3Operation& asked, std::vector<UploadEntry> uploads);

struct Deleted {
  std::string key;
  std::string version_id;
  Result<void, aws::Refusal> done;  ///< Or why it was not deleted.
};
std::string delete_xml(const std::vector<Deleted>& deleted, bool quiet);
std::string tagging_xml(const aws::Pairs& tags);

struct ObjectAttributes {
  std::string etag;
  std::uint64_t size = 0;
  std::optional<KeptChecksum> checksum;
  std::vector<PartEntry> parts{};  ///< All, by number; empty: not made of parts.
};
/// Only what `asked.attributes` names.
std::string attributes_xml(const S3Operation& asked, const ObjectAttributes& object);

/// The headers that GET and HEAD give back: metadata, overridden by response-*; x-amz-meta-*,
/// x-amz-tagging-count. Not ETag, Last-Modified, lengths, checksums: the caller's.
aws::Pairs metadata_headers(const ObjectMetadata& metadata, const aws::Pairs& overrides);

/// "x-amz-checksum-crc32" and "ChecksumCRC32" and "CRC32".
std::string_view checksum_header(Checksum kind);
std::string_view checksum_element(Checksum kind);
std::string_view checksum_name(Checksum kind);
/// By "CRC32" or "x-amz-checksum-crc32", in any case; MD5 is not included.
std::optional<Checksum> checksum_named(std::string_view name);

}  // namespace muster::s3wire
