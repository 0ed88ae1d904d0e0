#include "aws/s3wire/s3_answer.h"

#include <algorithm>
#include <array>
#include <set>

#include "aws/xml.h"
#include "base/base64.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

constexpr std::string_view declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::string_view space = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
/// Every caller sees itself as the owner of everything.
constexpr std::string_view owner = "<ID>muster</ID><DisplayName>muster</DisplayName>";

void put(std::string& out, std::string_view name, std::string_view text) {
  out += '<';
  out += name;
  out += '>';
  aws::put_xml(out, text);
  out += "</";
  out += name;
  out += '>';
}
void put(std::string& out, std::string_view name, std::uint64_t value) {
  put(out, name, std::to_string(value));
}
void put_flag(std::string& out, std::string_view name, bool value) {
  put(out, name, value ? "true" : "false");
}
void put_etag(std::string& out, std::string_view etag) {
  put(out, "ETag", "\"" + std::string(etag) + "\"");
}

std::string opened(std::string_view root) {
  return std::string(declaration) + "<" + std::string(root) + std::string(space) + ">";
}
std::string closed(std::string out, std::string_view root) {
  out += "</";
  out += root;
  out += '>';
  return out;
}

void put_checksum(std::string& out, const std::optional<GivenChecksum>& checksum) {
  if (checksum && !checksum->value.empty())
    put(out, checksum_element(checksum->kind), base64(checksum->value));
}

void put_kept(std::string& out, const std::optional<KeptChecksum>& checksum) {
  if (!checksum) return;
  put(out, checksum_element(checksum->kind), checksum->text);
  put(out, "ChecksumType", checksum->whole ? "FULL_OBJECT" : "COMPOSITE");
}

/// A key as the listing's encoding has it.
std::string shown(const ListQuery& list, std::string_view text) {
  return list.url_encoding ? aws::percent_encoded(text, true) : std::string(text);
}

void put_object(std::string& out, const S3Operation& asked, const ListedObject& object) {
  const bool of_versions = asked.op == S3Op::list_object_versions;
  const std::string_view element = of_versions ? "Version" : "Contents";
  out += '<';
  out += element;
  out += '>';
  put(out, "Key", shown(asked.list, object.key));
  if (of_versions) out += "<VersionId>null</VersionId><IsLatest>true</IsLatest>";
  put(out, "LastModified", iso_date(object.modified));
  put_etag(out, object.etag);
  if (object.checksum) {
    put(out, "ChecksumAlgorithm", checksum_name(*object.checksum));
    put(out, "ChecksumType", object.whole_checksum ? "FULL_OBJECT" : "COMPOSITE");
  }
  put(out, "Size", object.size);
  if (asked.op != S3Op::list_objects_v2 || asked.list.fetch_owner) {
    out += "<Owner>";
    out += owner;
    out += "</Owner>";
  }
  out += "<StorageClass>STANDARD</StorageClass></";
  out += element;
  out += '>';
}

/// The markers that came and those of the next page.
void put_markers(std::string& out, const S3Operation& asked, const Listing& listing) {
  const ListQuery& list = asked.list;
  switch (asked.op) {
    case S3Op::list_objects_v2:
      put(out, "KeyCount", listing.objects.size() + listing.common_prefixes.size());
      if (list.has_marker) put(out, "StartAfter", shown(list, list.marker));
      if (list.has_continuation) put(out, "ContinuationToken", list.continuation);
      if (listing.truncated) put(out, "NextContinuationToken", continuation_token(listing.next));
      break;
    case S3Op::list_object_versions:
      put(out, "KeyMarker", shown(list, list.marker));
      put(out, "VersionIdMarker", list.continuation);
      if (!listing.truncated) break;
      put(out, "NextKeyMarker", shown(list, listing.next));
      put(out, "NextVersionIdMarker", "null");
      break;
    default:
      put(out, "Marker", shown(list, list.marker));
      if (listing.truncated) put(out, "NextMarker", shown(list, listing.next));
      break;
  }
}

void put_common_prefixes(std::string& out, const ListQuery& list,
                         const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    out += "<CommonPrefixes>";
    put(out, "Prefix", shown(list, prefix));
    out += "</CommonPrefixes>";
  }
}

std::string copy_xml(std::string_view root, std::string_view etag, UnixMillis modified,
                     const std::optional<GivenChecksum>& checksum) {
  std::string out = opened(root);
  put(out, "LastModified", iso_date(modified));
  put_etag(out, etag);
  put_checksum(out, checksum);
  return closed(std::move(out), root);
}

struct UploadsPage {
  std::vector<UploadEntry> uploads;
  std::vector<std::string> common_prefixes;
  bool truncated = false;
  std::string next_key;
  std::string next_id;
};

bool is_behind(const UploadEntry& upload, const ListQuery& list) {
  if (!list.has_marker) return true;
  if (upload.key != list.marker || !list.has_continuation) return upload.key > list.marker;
  return upload.upload_id > list.continuation;
}

UploadsPage page_of(const ListQuery& list, std::vector<UploadEntry> uploads) {
  std::sort(uploads.begin(), uploads.end(), [](const UploadEntry& a, const UploadEntry& b) {
    return a.key != b.key ? a.key < b.key : a.upload_id < b.upload_id;
  });
  UploadsPage page;
  for (UploadEntry& upload : uploads) {
    if (!upload.key.starts_with(list.prefix) || !is_behind(upload, list)) continue;
    const std::size_t cut = list.delimiter.empty()
                                ? std::string::npos
                                : upload.key.find(list.delimiter, list.prefix.size());
    std::string common;
    if (cut != std::string::npos) common = upload.key.substr(0, cut + list.delimiter.size());
    // What the page before had as its last is not had again.
    if (!common.empty() && list.has_marker && list.marker == common) continue;
    if (!common.empty() && !page.common_prefixes.empty() && page.common_prefixes.back() == common)
      continue;
    if (page.uploads.size() + page.common_prefixes.size() >= list.max) {
      page.truncated = list.max > 0;
      break;
    }
    page.next_key = common.empty() ? upload.key : common;
    page.next_id = common.empty() ? upload.upload_id : "";
    if (common.empty())
      page.uploads.push_back(std::move(upload));
    else
      page.common_prefixes.push_back(std::move(common));
  }
  return page;
}

struct ChecksumWords {
  Checksum kind;
  std::string_view header;
  std::string_view element;
  std::string_view name;
};
constexpr std::array checksum_words = {
    ChecksumWords{Checksum::crc32, "x-amz-checksum-crc32", "ChecksumCRC32", "CRC32"},
    ChecksumWords{Checksum::crc32c, "x-amz-checksum-crc32c", "ChecksumCRC32C", "CRC32C"},
    ChecksumWords{Checksum::crc64nvme, "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME",
                  "CRC64NVME"},
    ChecksumWords{Checksum::sha1, "x-amz-checksum-sha1", "ChecksumSHA1", "SHA1"},
    ChecksumWords{Checksum::sha256, "x-amz-checksum-sha256", "ChecksumSHA256", "SHA256"},
    ChecksumWords{Checksum::md5, "content-md5", "ContentMD5", "MD5"},
};

const ChecksumWords& words_of(Checksum kind) {
  for (const ChecksumWords& words : checksum_words)
    if (words.kind == kind) return words;
  return checksum_words.back();
}

}  // namespace

std::string error_xml(const aws::Refusal& error, std::string_view resource,
                      std::string_view request_id) {
  std::string out(declaration);
  out += "<Error>";
  put(out, "Code", error.code);
  put(out, "Message", error.message);
  for (const auto& [name, value] : error.more) put(out, name, value);
  put(out, "Resource", resource);
  put(out, "RequestId", request_id);
  put(out, "HostId", "muster");
  return closed(std::move(out), "Error");
}

std::string list_buckets_xml(const ListQuery& list, const std::vector<BucketEntry>& buckets) {
  std::string out = opened("ListAllMyBucketsResult");
  out += "<Owner>";
  out += owner;
  out += "</Owner><Buckets>";
  std::uint64_t count = 0;
  std::string last;
  bool more = false;
  for (const BucketEntry& bucket : buckets) {
    if (!bucket.name.starts_with(list.prefix) || bucket.name <= list.after) continue;
    more = count == list.max;
    if (more) break;
    ++count;
    last = bucket.name;
    out += "<Bucket>";
    put(out, "Name", bucket.name);
    put(out, "CreationDate", iso_date(bucket.created));
    if (!list.region.empty()) put(out, "BucketRegion", list.region);
    out += "</Bucket>";
  }
  out += "</Buckets>";
  if (!list.prefix.empty()) put(out, "Prefix", list.prefix);
  if (more) put(out, "ContinuationToken", continuation_token(last));
  return closed(std::move(out), "ListAllMyBucketsResult");
}

std::string location_xml(std::string_view region) {
  std::string out = opened("LocationConstraint");
  if (region != "us-east-1") aws::put_xml(out, region);
  return closed(std::move(out), "LocationConstraint");
}

std::string versioning_xml() {
  return closed(opened("VersioningConfiguration"), "VersioningConfiguration");
}

std::string acl_xml() {
  std::string out = opened("AccessControlPolicy");
  out += "<Owner>";
  out += owner;
  out +=
      "</Owner><AccessControlList><Grant><Grantee "
      "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"CanonicalUser\">";
  out += owner;
  out += "</Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList>";
  return closed(std::move(out), "AccessControlPolicy");
}

std::string listing_xml(const S3Operation& asked, const Listing& listing) {
  const ListQuery& list = asked.list;
  const std::string_view root =
      asked.op == S3Op::list_object_versions ? "ListVersionsResult" : "ListBucketResult";
  std::string out = opened(root);
  out.reserve(512 + listing.objects.size() * 400);
  put(out, "Name", asked.bucket);
  put(out, "Prefix", shown(list, list.prefix));
  put_markers(out, asked, listing);
  put(out, "MaxKeys", list.max);
  if (!list.delimiter.empty()) put(out, "Delimiter", shown(list, list.delimiter));
  if (list.url_encoding) put(out, "EncodingType", "url");
  put_flag(out, "IsTruncated", listing.truncated);
  for (const ListedObject& object : listing.objects) put_object(out, asked, object);
  put_common_prefixes(out, list, listing.common_prefixes);
  return closed(std::move(out), root);
}

std::string copy_object_xml(std::string_view etag, UnixMillis modified,
                            const std::optional<GivenChecksum>& checksum) {
  return copy_xml("CopyObjectResult", etag, modified, checksum);
}

std::string copy_part_xml(std::string_view etag, UnixMillis modified,
                          const std::optional<GivenChecksum>& checksum) {
  return copy_xml("CopyPartResult", etag, modified, checksum);
}

std::string create_upload_xml(std::string_view bucket, std::string_view key,
                              std::string_view upload_id) {
  std::string out = opened("InitiateMultipartUploadResult");
  put(out, "Bucket", bucket);
  put(out, "Key", key);
  put(out, "UploadId", upload_id);
  return closed(std::move(out), "InitiateMultipartUploadResult");
}

std::string complete_upload_xml(std::string_view location, std::string_view bucket,
                                std::string_view key, std::string_view etag,
                                const std::optional<KeptChecksum>& checksum) {
  std::string out = opened("CompleteMultipartUploadResult");
  put(out, "Location", location);
  put(out, "Bucket", bucket);
  put(out, "Key", key);
  put_etag(out, etag);
  put_kept(out, checksum);
  return closed(std::move(out), "CompleteMultipartUploadResult");
}

std::string list_parts_xml(const S3Operation& asked, const PartsPage& page) {
  const std::size_t shown_parts = std::min<std::size_t>(page.parts.size(), asked.list.max);
  const bool truncated = page.parts.size() > shown_parts && shown_parts > 0;
  std::string out = opened("ListPartsResult");
  put(out, "Bucket", asked.bucket);
  put(out, "Key", asked.key);
  put(out, "UploadId", asked.upload_id);
  for (const std::string_view who : {"Initiator", "Owner"}) {
    out += "<" + std::string(who) + ">" + std::string(owner);
    out += "</" + std::string(who) + ">";
  }
  put(out, "StorageClass", "STANDARD");
  put(out, "PartNumberMarker", asked.list.part_marker);
  if (truncated)
    put(out, "NextPartNumberMarker",
        static_cast<std::uint64_t>(page.parts[shown_parts - 1].number));
  put(out, "MaxParts", asked.list.max);
  put_flag(out, "IsTruncated", truncated);
  if (page.checksum) {
    put(out, "ChecksumAlgorithm", checksum_name(*page.checksum));
    put(out, "ChecksumType", page.whole_checksum ? "FULL_OBJECT" : "COMPOSITE");
  }
  for (std::size_t i = 0; i < shown_parts; ++i) {
    const PartEntry& part = page.parts[i];
    out += "<Part>";
    put(out, "PartNumber", static_cast<std::uint64_t>(part.number));
    put(out, "LastModified", iso_date(part.modified));
    put_etag(out, part.etag);
    put(out, "Size", part.size);
    put_checksum(out, part.checksum);
    out += "</Part>";
  }
  return closed(std::move(out), "ListPartsResult");
}

std::string list_uploads_xml(const S3Operation& asked, std::vector<UploadEntry> uploads) {
  const ListQuery& list = asked.list;
  const UploadsPage page = page_of(list, std::move(uploads));
  std::string out = opened("ListMultipartUploadsResult");
  put(out, "Bucket", asked.bucket);
  put(out, "KeyMarker", shown(list, list.marker));
  put(out, "UploadIdMarker", list.continuation);
  if (page.truncated) {
    put(out, "NextKeyMarker", shown(list, page.next_key));
    put(out, "NextUploadIdMarker", page.next_id);
  }
  if (!list.prefix.empty()) put(out, "Prefix", shown(list, list.prefix));
  if (!list.delimiter.empty()) put(out, "Delimiter", shown(list, list.delimiter));
  if (list.url_encoding) put(out, "EncodingType", "url");
  put(out, "MaxUploads", list.max);
  put_flag(out, "IsTruncated", page.truncated);
  for (const UploadEntry& upload : page.uploads) {
    out += "<Upload>";
    put(out, "Key", shown(list, upload.key));
    put(out, "UploadId", upload.upload_id);
    out += "<Initiator>" + std::string(owner) + "</Initiator><Owner>" + std::string(owner);
    out += "</Owner><StorageClass>STANDARD</StorageClass>";
    put(out, "Initiated", iso_date(upload.begun));
    out += "</Upload>";
  }
  put_common_prefixes(out, list, page.common_prefixes);
  return closed(std::move(out), "ListMultipartUploadsResult");
}

std::string delete_xml(const std::vector<Deleted>& deleted, bool quiet) {
  std::string out = opened("DeleteResult");
  for (const Deleted& one : deleted) {
    if (one.done && quiet) continue;
    const std::string_view element = one.done ? "Deleted" : "Error";
    out += '<';
    out += element;
    out += '>';
    put(out, "Key", one.key);
    if (!one.version_id.empty()) put(out, "VersionId", one.version_id);
    if (!one.done) {
      put(out, "Code", one.done.error().code);
      put(out, "Message", one.done.error().message);
    }
    out += "</";
    out += element;
    out += '>';
  }
  return closed(std::move(out), "DeleteResult");
}

std::string tagging_xml(const aws::Pairs& tags) {
  std::string out = opened("Tagging");
  out += "<TagSet>";
  for (const auto& [key, value] : tags) {
    out += "<Tag>";
    put(out, "Key", key);
    put(out, "Value", value);
    out += "</Tag>";
  }
  out += "</TagSet>";
  return closed(std::move(out), "Tagging");
}

namespace {

/// Writes the parts behind the marker, as many as were asked for.
void put_object_parts(std::string& out, const ListQuery& list,
                      const std::vector<PartEntry>& parts) {
  const std::size_t first = std::min<std::size_t>(list.part_marker, parts.size());
  const std::size_t end = first + std::min<std::size_t>(parts.size() - first, list.max);
  out += "<ObjectParts>";
  put(out, "PartsCount", parts.size());
  put(out, "PartNumberMarker", list.part_marker);
  if (end < parts.size()) put(out, "NextPartNumberMarker", end);
  put(out, "MaxParts", list.max);
  put_flag(out, "IsTruncated", end < parts.size());
  for (std::size_t i = first; i < end; ++i) {
    out += "<Part>";
    put_checksum(out, parts[i].checksum);
    put(out, "PartNumber", static_cast<std::uint64_t>(parts[i].number));
    put(out, "Size", parts[i].size);
    out += "</Part>";
  }
  out += "</ObjectParts>";
}

}  // namespace

std::string attributes_xml(const S3Operation& asked, const ObjectAttributes& object) {
  const auto wants = [&](std::string_view name) {
    return std::find(asked.attributes.begin(), asked.attributes.end(), name) !=
           asked.attributes.end();
  };
  std::string out = opened("GetObjectAttributesResponse");
  if (wants("ETag")) put(out, "ETag", object.etag);
  if (wants("Checksum") && object.checksum) {
    out += "<Checksum>";
    put_kept(out, object.checksum);
    out += "</Checksum>";
  }
  if (wants("ObjectParts") && !object.parts.empty())
    put_object_parts(out, asked.list, object.parts);
  if (wants("StorageClass")) put(out, "StorageClass", "STANDARD");
  if (wants("ObjectSize")) put(out, "ObjectSize", object.size);
  return closed(std::move(out), "GetObjectAttributesResponse");
}

aws::Pairs metadata_headers(const ObjectMetadata& metadata, const aws::Pairs& overrides) {
  aws::Pairs headers;
  const auto named = [](const aws::Pairs& pairs, const std::string& name) {
    return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == name; });
  };
  for (const auto& [name, value] : metadata.headers)
    if (!named(overrides, name)) headers.emplace_back(name, value);
  headers.insert(headers.end(), overrides.begin(), overrides.end());
  if (!named(headers, "content-type")) headers.emplace_back("content-type", "binary/octet-stream");
  for (const auto& [name, value] : metadata.user) headers.emplace_back("x-amz-meta-" + name, value);
  if (!metadata.tags.empty())
    headers.emplace_back("x-amz-tagging-count", std::to_string(metadata.tags.size()));
  return headers;
}

std::string_view checksum_header(Checksum kind) {
  return words_of(kind).header;
}

std::string_view checksum_element(Checksum kind) {
  return words_of(kind).element;
}

std::string_view checksum_name(Checksum kind) {
  return words_of(kind).name;
}

std::optional<Checksum> checksum_named(std::string_view name) {
  for (const ChecksumWords& words : checksum_words)
    if (words.kind != Checksum::md5 &&
        (same_letters(name, words.name) || same_letters(name, words.header)))
      return words.kind;
  return std::nullopt;
}

}  // namespace muster::s3wire
