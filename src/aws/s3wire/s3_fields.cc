#include "aws/s3wire/s3_fields.h"

#include <algorithm>
#include <array>

#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_document.h"
#include "aws/s3wire/s3_listing.h"
#include "aws/s3wire/s3_operations.h"
#include "base/base64.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

constexpr std::uint64_t page_max = 1000;
constexpr std::uint64_t parts_max = 10000;
constexpr std::size_t metadata_bytes_max = 2048;

using Checked = Result<void, aws::Refusal>;

aws::Refusal bad_argument(std::string message, std::string name, std::string_view value) {
  aws::Refusal error = aws::s3_refusal("InvalidArgument", std::move(message));
  error.more = {{"ArgumentName", std::move(name)}, {"ArgumentValue", to_utf8(value)}};
  return error;
}

/// A range that cannot be read is none, as RFC 9110 section 14.2 has it.
std::optional<AskedRange> range_of(std::string_view text) {
  if (!text.starts_with("bytes=")) return std::nullopt;
  text.remove_prefix(6);
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  AskedRange range{whole_number(first), whole_number(last)};
  if ((!first.empty() && !range.first) || (!last.empty() && !range.last)) return std::nullopt;
  if (!range.first && !range.last) return std::nullopt;
  if (range.first && range.last && *range.last < *range.first) return std::nullopt;
  return range;
}

Conditions conditions_of(const aws::RequestHead& head, const std::string& before) {
  const auto date = [&](const char* name) -> std::optional<UnixMillis> {
    const std::optional<std::string_view> text = head.header(before + name);
    return text ? parse_http_date(*text) : std::nullopt;
  };
  Conditions conditions;
  conditions.if_match = head.header(before + "if-match").value_or("");
  conditions.if_none_match = head.header(before + "if-none-match").value_or("");
  conditions.if_modified_since = date("if-modified-since");
  conditions.if_unmodified_since = date("if-unmodified-since");
  return conditions;
}

/// At most `most`; larger ones count as that.
Checked set_count(std::uint64_t& count, const Fields& fields, const char* name,
                  std::uint64_t most) {
  const std::string* text = fields.parameter(name);
  if (text == nullptr || text->empty()) return {};
  const std::optional<std::uint64_t> value = whole_number(*text);
  if (!value || *value > 0x7FFFFFFF)
    return bad_argument(
        "Argument " + std::string(name) + " must be an integer between 0 and 2147483647", name,
        *text);
  count = std::min(*value, most);
  return {};
}

void set_marker(ListQuery& list, const Fields& fields, const char* name) {
  const std::string* marker = fields.parameter(name);
  if (marker == nullptr) return;
  list.has_marker = true;
  list.marker = *marker;
}

Checked read_list(S3Operation& operation, const Fields& fields) {
  ListQuery& list = operation.list;
  const auto text = [&](const char* name) {
    const std::string* value = fields.parameter(name);
    return value == nullptr ? std::string() : *value;
  };
  list.prefix = text("prefix");
  list.delimiter = text("delimiter");
  const std::string encoding = text("encoding-type");
  if (!encoding.empty() && encoding != "url")
    return bad_argument("Invalid Encoding Method specified in Request", "encoding-type", encoding);
  list.url_encoding = !encoding.empty();
  const char* continuation = nullptr;
  switch (operation.op) {
    case S3Op::list_objects:
      set_marker(list, fields, "marker");
      break;
    case S3Op::list_objects_v2:
      if (text("list-type") != "2")
        return bad_argument("Invalid List Type specified in Request", "list-type",
                            text("list-type"));
      set_marker(list, fields, "start-after");
      list.fetch_owner = text("fetch-owner") == "true";
      continuation = "continuation-token";
      break;
    case S3Op::list_object_versions:
      set_marker(list, fields, "key-marker");
      continuation = "version-id-marker";
      break;
    default:
      set_marker(list, fields, "key-marker");
      list.continuation = text("upload-id-marker");
      list.has_continuation = !list.continuation.empty();
      list.after = list.marker;
      return set_count(list.max, fields, "max-uploads", page_max);
  }
  if (continuation != nullptr && fields.parameter(continuation) != nullptr) {
    list.has_continuation = true;
    list.continuation = text(continuation);
  }
  list.after = list.marker;
  if (operation.op == S3Op::list_objects_v2 && list.has_continuation) {
    const std::optional<std::string> place = continued_at(list.continuation);
    if (!place)
      return bad_argument("The continuation token provided is incorrect", "continuation-token",
                          list.continuation);
    list.after = *place;
  }
  return set_count(list.max, fields, "max-keys", page_max);
}

Checked read_upload(S3Operation& operation, const Fields& fields) {
  if (const std::string* id = fields.parameter("uploadId")) operation.upload_id = *id;
  const std::string* number = fields.parameter("partNumber");
  const bool needs = operation.op == S3Op::upload_part || operation.op == S3Op::upload_part_copy;
  if (number == nullptr) {
    if (needs) return bad_argument("This operation requires a part number", "partNumber", "");
    return {};
  }
  const std::optional<std::uint64_t> value = whole_number(*number);
  if (!value || *value < 1 || *value > parts_max)
    return bad_argument("Part number must be an integer between 1 and 10000, inclusive",
                        "partNumber", *number);
  operation.part_number = static_cast<int>(*value);
  return {};
}

/// A coding without the word: "a,b" for "a, aws-chunked, b"; as it came if it is not there.
std::string without_chunked(std::string_view coding) {
  if (lower_case(coding).find("aws-chunked") == std::string::npos) return std::string(coding);
  std::string kept;
  for (const std::string& one : split(coding, ',')) {
    const std::string word = trim(one);
    if (word.empty() || same_letters(word, "aws-chunked")) continue;
    kept += (kept.empty() ? "" : ",") + word;
  }
  return kept;
}

Checked read_length(S3Operation& operation, const aws::RequestHead& head) {
  const std::string_view coding = head.header("content-encoding").value_or("");
  const std::string_view hash = head.header("x-amz-content-sha256").value_or("");
  const bool says_so = without_chunked(coding).size() < coding.size() &&
                       lower_case(coding).find("aws-chunked") != std::string::npos;
  operation.aws_chunked = hash.starts_with("STREAMING-") ||
                          (says_so && head.header("x-amz-decoded-content-length").has_value());
  const char* name = operation.aws_chunked ? "x-amz-decoded-content-length" : "content-length";
  const std::optional<std::string_view> length = head.header(name);
  if (!length) {
    if (operation.aws_chunked) return aws::s3_refusal("MissingContentLength");
    return {};
  }
  operation.content_bytes = whole_number(*length);
  if (!operation.content_bytes)
    return bad_argument("The length of the body is not a number", name, *length);
  return {};
}

/// The digest's bytes in a header's value; none if it is invalid. For the whole of an upload in
/// parts, it may include the number of parts.
std::optional<std::string> digest_in(std::string_view text, Checksum kind, bool of_parts) {
  if (of_parts) {
    const std::size_t dash = text.rfind('-');
    if (dash != std::string_view::npos && whole_number(text.substr(dash + 1)))
      text = text.substr(0, dash);
  }
  std::optional<std::string> bytes = from_base64(text);
  if (!bytes || bytes->size() != digest_bytes(kind)) return std::nullopt;
  return bytes;
}

constexpr const char* one_checksum =
    "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.";
constexpr std::array checksum_kinds = {Checksum::crc32, Checksum::crc32c, Checksum::crc64nvme,
                                       Checksum::sha1, Checksum::sha256};

aws::Refusal bad_checksum(std::string text) {
  return aws::s3_refusal("InvalidRequest", std::move(text));
}

/// The checksum that comes behind the body has to be the only one that is spoken of.
Checked set_trailer(S3Operation& operation, const aws::RequestHead& head,
                    std::string_view announced) {
  operation.trailer = lower_case(announced);
  const std::optional<Checksum> kind = checksum_named(announced);
  if (!kind || checksum_header(*kind) != operation.trailer)
    return bad_checksum("The value specified in the x-amz-trailer header is not supported");
  if (operation.checksum && operation.checksum->kind != *kind) return bad_checksum(one_checksum);
  for (const std::string header : {"x-amz-sdk-checksum-algorithm", "x-amz-checksum-algorithm"}) {
    const std::string_view name = head.header(header).value_or("");
    if (!name.empty() && checksum_named(name) != kind)
      return bad_checksum("Value for " + header + " header is invalid.");
  }
  if (!operation.checksum) operation.checksum = GivenChecksum{*kind, ""};
  return {};
}

/// The kind that is named, without a value.
Checked set_announced(S3Operation& operation, const aws::RequestHead& head) {
  if (const std::string trailer = trim(head.header("x-amz-trailer").value_or("")); !trailer.empty())
    return set_trailer(operation, head, trailer);
  std::string_view name;
  std::string_view by;
  for (const char* header : {"x-amz-checksum-algorithm", "x-amz-sdk-checksum-algorithm"}) {
    by = header;
    name = head.header(header).value_or("");
    if (!name.empty()) break;
  }
  if (name.empty()) return {};
  const std::optional<Checksum> kind = checksum_named(name);
  if (!kind && (same_letters(name, "MD5") && by == "x-amz-sdk-checksum-algorithm"))
    return {};  // Content-MD5 is what it means.
  if (!kind)
    return bad_checksum(
        "Checksum algorithm provided is unsupported. Please try again with any of "
        "the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]");
  if (!operation.checksum) operation.checksum = GivenChecksum{*kind, ""};
  return {};
}

/// FULL_OBJECT or COMPOSITE, by the header or what is the kind's own.
Checked set_checksum_type(S3Operation& operation, const aws::RequestHead& head) {
  if (!operation.checksum) return {};
  const Checksum kind = operation.checksum->kind;
  const bool of_sha = kind == Checksum::sha1 || kind == Checksum::sha256;
  const std::string type(head.header("x-amz-checksum-type").value_or(""));
  operation.whole_checksum = kind == Checksum::crc64nvme || type == "FULL_OBJECT";
  const bool fits = type.empty() || (type == "FULL_OBJECT" && !of_sha) ||
                    (type == "COMPOSITE" && kind != Checksum::crc64nvme);
  if (fits) return {};
  return aws::s3_refusal("InvalidRequest",
                         "The " + to_utf8(type) + " checksum type cannot be used with the " +
                             lower_case(checksum_name(kind)) + " checksum algorithm.");
}

Checked read_checksums(S3Operation& operation, const aws::RequestHead& head) {
  const bool of_parts = operation.op == S3Op::complete_multipart_upload;
  for (const Checksum kind : checksum_kinds) {
    const std::optional<std::string_view> text = head.header(checksum_header(kind));
    if (!text) continue;
    if (operation.checksum) return aws::s3_refusal("InvalidRequest", one_checksum);
    std::optional<std::string> bytes = digest_in(*text, kind, of_parts);
    if (!bytes)
      return aws::s3_refusal("InvalidRequest", "Value for " + std::string(checksum_header(kind)) +
                                                   " header is invalid.");
    operation.checksum = GivenChecksum{kind, std::move(*bytes)};
  }
  TRY(set_announced(operation, head));
  if (const std::optional<std::string_view> md5 = head.header("content-md5")) {
    operation.content_md5 = from_base64(*md5);
    if (!operation.content_md5 || operation.content_md5->size() != digest_bytes(Checksum::md5))
      return aws::s3_refusal("InvalidDigest");
  }
  return set_checksum_type(operation, head);
}

constexpr std::array<std::string_view, 7> kept_headers = {"cache-control",
                                                          "content-disposition",
                                                          "content-encoding",
                                                          "content-language",
                                                          "content-type",
                                                          "expires",
                                                          "x-amz-website-redirect-location"};

Checked read_metadata(S3Operation& operation, const aws::RequestHead& head) {
  constexpr std::string_view before = "x-amz-meta-";
  ObjectMetadata& metadata = operation.metadata;
  std::size_t bytes = 0;
  for (const auto& [name, value] : head.headers) {
    if (name.size() > before.size() && same_letters(name.substr(0, before.size()), before)) {
      std::string key = lower_case(name.substr(before.size()));
      bytes += key.size() + value.size();
      const auto same = std::find_if(metadata.user.begin(), metadata.user.end(),
                                     [&](const auto& pair) { return pair.first == key; });
      if (same == metadata.user.end())
        metadata.user.emplace_back(std::move(key), value);
      else
        same->second += "," + std::string(value);
    }
  }
  if (bytes > metadata_bytes_max) {
    aws::Refusal error = aws::s3_refusal("MetadataTooLarge");
    error.more = {{"Size", std::to_string(bytes)},
                  {"MaxSizeAllowed", std::to_string(metadata_bytes_max)}};
    return error;
  }
  for (const std::string_view name : kept_headers) {
    const std::optional<std::string_view> value = head.header(name);
    if (!value) continue;
    std::string kept = name == "content-encoding" ? without_chunked(*value) : std::string(*value);
    if (!kept.empty()) metadata.headers.emplace_back(name, std::move(kept));
  }
  if (const std::optional<std::string_view> tags = head.header("x-amz-tagging")) {
    metadata.tags = TRY(read_tagging_header(*tags));
  }
  return {};
}

/// "COPY" or "REPLACE" of a header.
Checked set_directive(bool& replace, const aws::RequestHead& head, const char* name) {
  const std::string_view text = head.header(name).value_or("COPY");
  replace = text == "REPLACE";
  if (replace || text == "COPY") return {};
  return bad_argument("Unknown directive: expected COPY or REPLACE", name, text);
}

Checked read_copy_source(S3Operation& operation, const aws::RequestHead& head) {
  std::string_view text = head.header("x-amz-copy-source").value_or("");
  const aws::Refusal bad =
      bad_argument("Copy Source must mention the source bucket and key: sourcebucket/sourcekey",
                   "x-amz-copy-source", text);
  const std::size_t version = text.find('?');
  if (version != std::string_view::npos) {
    if (text.substr(version) != "?versionId=null") return aws::s3_refusal("NoSuchVersion");
    text = text.substr(0, version);
  }
  const std::optional<std::string> decoded = aws::percent_decoded(text, true);  // As S3: '+' too.
  if (!decoded) return bad;
  std::string_view source = *decoded;
  if (source.starts_with('/')) source.remove_prefix(1);
  const std::size_t slash = source.find('/');
  if (slash == std::string_view::npos || slash + 1 == source.size()) return bad;
  S3Url from{std::string(source.substr(0, slash)), std::string(source.substr(slash + 1))};
  if (!is_utf8(from.key) || from.key.find('\0') != std::string::npos) return bad;
  if (!is_bucket_name(from.bucket)) return aws::s3_refusal("InvalidBucketName");
  operation.copy_source = std::move(from);
  operation.copy_conditions = conditions_of(head, "x-amz-copy-source-");
  return {};
}

/// A copy of an object onto itself has to ask for something that is then another.
Checked check_onto_itself(const S3Operation& operation, const aws::RequestHead& head) {
  const S3Url& from = *operation.copy_source;
  if (from.bucket != operation.bucket || from.key != operation.key) return {};
  constexpr std::array changes = {"x-amz-storage-class", "x-amz-server-side-encryption",
                                  "x-amz-server-side-encryption-aws-kms-key-id",
                                  "x-amz-website-redirect-location"};
  if (operation.replace_metadata ||
      std::any_of(changes.begin(), changes.end(),
                  [&](const char* name) { return head.header(name).has_value(); }))
    return {};
  return aws::s3_refusal(
      "InvalidRequest",
      "This copy request is illegal because it is trying to copy an object to itself without "
      "changing the object's metadata, storage class, website redirect location or encryption "
      "attributes.");
}

Checked read_copy(S3Operation& operation, const aws::RequestHead& head) {
  TRY(read_copy_source(operation, head));
  if (operation.op == S3Op::upload_part_copy) {
    const std::optional<std::string_view> text = head.header("x-amz-copy-source-range");
    if (!text || text->empty()) return {};
    operation.range = range_of(*text);
    if (operation.range && operation.range->first && operation.range->last) return {};
    return bad_argument(
        "The x-amz-copy-source-range value must be of the form bytes=first-last "
        "where first and last are the zero-based offsets of the first and last "
        "bytes to copy",
        "x-amz-copy-source-range", *text);
  }
  TRY(set_directive(operation.replace_metadata, head, "x-amz-metadata-directive"));
  TRY(set_directive(operation.replace_tags, head, "x-amz-tagging-directive"));
  return check_onto_itself(operation, head);
}

Checked read_get(S3Operation& operation, const Fields& fields) {
  constexpr std::string_view before = "response-";
  if (const std::optional<std::string_view> range = fields.head.header("range"))
    operation.range = range_of(*range);
  operation.if_range = fields.head.header("if-range").value_or("");
  operation.want_checksum =
      same_letters(fields.head.header("x-amz-checksum-mode").value_or(""), "ENABLED");
  for (const auto& [name, value] : fields.query) {
    if (!name.starts_with(before)) continue;
    // The value goes out as a header: no line break comes in by it.
    if (std::any_of(value.begin(), value.end(), [](char c) { return c < ' ' || c == '\x7f'; }))
      return bad_argument("A response header contains an invalid character", name, value);
    operation.response_headers.emplace_back(name.substr(before.size()), value);
  }
  return {};
}

/// A page of an object's parts.
Checked set_parts_header(std::uint64_t& count, const aws::RequestHead& head, const char* name,
                         std::uint64_t most) {
  const std::optional<std::string_view> text = head.header(name);
  if (!text) return {};
  const std::optional<std::uint64_t> value = whole_number(*text);
  if (!value) return bad_argument("The value is not a number", name, *text);
  count = std::min(*value, most);
  return {};
}

Checked read_attributes(S3Operation& operation, const aws::RequestHead& head) {
  for (const auto& [name, value] : head.headers) {
    if (!same_letters(name, "x-amz-object-attributes")) continue;
    for (const std::string& one : split(value, ','))
      if (std::string word = trim(one); !word.empty()) operation.attributes.push_back(word);
  }
  constexpr std::array<std::string_view, 5> all = {"ETag", "Checksum", "ObjectParts",
                                                   "StorageClass", "ObjectSize"};
  for (const std::string& one : operation.attributes)
    if (std::find(all.begin(), all.end(), one) == all.end())
      return bad_argument("Invalid attribute name specified.", "x-amz-object-attributes", one);
  if (operation.attributes.empty())
    return bad_argument("The x-amz-object-attributes header is missing.", "x-amz-object-attributes",
                        "");
  ListQuery& list = operation.list;
  TRY(set_parts_header(list.max, head, "x-amz-max-parts", page_max));
  return set_parts_header(list.part_marker, head, "x-amz-part-number-marker", parts_max);
}

Checked read_version(const Fields& fields) {
  const std::string* version = fields.parameter("versionId");
  if (version == nullptr || version->empty() || *version == "null") return {};
  return aws::s3_refusal("NoSuchVersion");
}

/// DELETE may ask for size and time, too.
Checked read_delete_conditions(S3Operation& operation, const aws::RequestHead& head) {
  constexpr const char* size = "x-amz-if-match-size";
  constexpr const char* time = "x-amz-if-match-last-modified-time";
  Conditions& conditions = operation.conditions;
  if (const std::optional<std::string_view> text = head.header(size)) {
    conditions.if_match_size = whole_number(*text);
    if (!conditions.if_match_size) return bad_argument("The size is not a number", size, *text);
  }
  if (const std::optional<std::string_view> text = head.header(time)) {
    conditions.if_match_modified = parse_http_date(*text);
    if (!conditions.if_match_modified) conditions.if_match_modified = parse_iso_date(*text);
    if (!conditions.if_match_modified) return bad_argument("The time is invalid", time, *text);
  }
  return {};
}

bool begins(std::string_view name, std::string_view with) {
  return name.size() >= with.size() && same_letters(name.substr(0, with.size()), with);
}

/// Refuses headers that would promise something that the server does not do. Accepts values that
/// are true anyway: the owner has full control, other users have no access, and nothing is locked.
Checked check_promises(const aws::RequestHead& head) {
  for (const auto& [name, value] : head.headers) {
    const bool is_so = value.empty() || value == "private" || value == "bucket-owner-full-control";
    if (begins(name, "x-amz-grant-") || (same_letters(name, "x-amz-acl") && !is_so))
      return aws::s3_refusal("AccessControlListNotSupported");
    if (begins(name, "x-amz-object-lock-"))
      return aws::s3_refusal("InvalidRequest", "Bucket is missing Object Lock Configuration");
    if (same_letters(name, "x-amz-bucket-object-lock-enabled") && !same_letters(value, "false"))
      return not_implemented(name);
  }
  return {};
}

/// An access control list in the body is not supported.
Checked read_acl(const aws::RequestHead& head) {
  if (!head.header("x-amz-acl").value_or("").empty()) return {};
  return aws::s3_refusal("AccessControlListNotSupported");
}

Checked read_list_buckets(ListQuery& list, const Fields& fields) {
  constexpr std::uint64_t buckets_max = 10000;
  list.max = buckets_max;
  if (const std::string* prefix = fields.parameter("prefix")) list.prefix = *prefix;
  if (const std::string* region = fields.parameter("bucket-region")) list.region = *region;
  if (const std::string* token = fields.parameter("continuation-token")) {
    const std::optional<std::string> place = continued_at(*token);
    if (!place)
      return bad_argument("The continuation token provided is incorrect", "continuation-token",
                          *token);
    list.after = *place;
  }
  TRY(set_count(list.max, fields, "max-buckets", buckets_max));
  if (list.max == 0)
    return bad_argument("Argument max-buckets must be an integer between 1 and 10000",
                        "max-buckets", "0");
  return {};
}

bool is_listing(S3Op op) {
  return op == S3Op::list_objects || op == S3Op::list_objects_v2 ||
         op == S3Op::list_object_versions || op == S3Op::list_multipart_uploads;
}

bool takes_metadata(S3Op op) {
  return op == S3Op::put_object || op == S3Op::copy_object || op == S3Op::create_multipart_upload;
}

}  // namespace

Result<void, aws::Refusal> read_fields(S3Operation& operation, const Fields& fields) {
  const aws::RequestHead& head = fields.head;
  const S3Op op = operation.op;
  if (!operation.key.empty()) TRY(read_version(fields));
  if (op == S3Op::list_buckets) return read_list_buckets(operation.list, fields);
  if (is_listing(op)) return read_list(operation, fields);
  operation.conditions = conditions_of(head, "");
  TRY(check_promises(head));
  TRY(read_upload(operation, fields));
  if (op == S3Op::list_parts) {
    TRY(set_count(operation.list.max, fields, "max-parts", page_max));
    return set_count(operation.list.part_marker, fields, "part-number-marker", parts_max);
  }
  if (op == S3Op::get_object || op == S3Op::head_object) return read_get(operation, fields);
  if (op == S3Op::get_object_attributes) return read_attributes(operation, head);
  if (op == S3Op::delete_object) return read_delete_conditions(operation, head);
  if (op == S3Op::put_bucket_acl || op == S3Op::put_object_acl) return read_acl(head);
  if (head.method != "PUT" && head.method != "POST") return {};

  TRY(read_length(operation, head));
  TRY(read_checksums(operation, head));
  if (takes_metadata(op)) TRY(read_metadata(operation, head));
  if (op == S3Op::copy_object || op == S3Op::upload_part_copy) TRY(read_copy(operation, head));
  if (const std::optional<std::string_view> size = head.header("x-amz-mp-object-size")) {
    operation.whole_bytes = whole_number(*size);
    if (!operation.whole_bytes)
      return bad_argument("The size of the object is not a number", "x-amz-mp-object-size", *size);
  }
  return {};
}

}  // namespace muster::s3wire
