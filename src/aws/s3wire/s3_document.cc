#include "aws/s3wire/s3_document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <pugixml.hpp>

#include "aws/s3wire/s3_answer.h"
#include "aws/s3wire/s3_key.h"
#include "base/base64.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::s3wire {
namespace {

constexpr std::size_t deletes_max = 1000;
constexpr int parts_max = 10000;
constexpr std::size_t tags_max = 10;
constexpr std::size_t tag_key_characters_max = 128;
constexpr std::size_t tag_value_characters_max = 256;

using Checked = Result<void, aws::Refusal>;

/// Reads `xml` into `document`, whose root is `root`.
Checked load(pugi::xml_document& document, std::string_view xml, std::string_view root) {
  if (xml.size() > document_bytes_max) return aws::s3_refusal("MaxMessageLengthExceeded");
  if (xml.empty()) return aws::s3_refusal("MissingRequestBodyError");
  if (xml.find('\0') != std::string_view::npos || !is_utf8(xml))
    return aws::s3_refusal("MalformedXML");
  constexpr unsigned how = pugi::parse_cdata | pugi::parse_escapes | pugi::parse_eol |
                           pugi::parse_doctype | pugi::parse_pi | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result read =
      document.load_buffer(xml.data(), xml.size(), how, pugi::encoding_utf8);
  if (!read) return aws::s3_refusal("MalformedXML");
  int elements = 0;
  for (const pugi::xml_node& node : document) {
    if (node.type() == pugi::node_doctype || node.type() == pugi::node_pi)
      return aws::s3_refusal("MalformedXML");
    elements += node.type() == pugi::node_element ? 1 : 0;
  }
  if (elements != 1 || document.document_element().name() != root)
    return aws::s3_refusal("MalformedXML");
  return {};
}

/// The element's text; none if elements are inside.
std::optional<std::string> text_in(const pugi::xml_node& element) {
  std::string text;
  for (const pugi::xml_node& node : element) {
    if (node.type() == pugi::node_element) return std::nullopt;
    if (node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata) text += node.value();
  }
  return text;
}

std::string without_quotes(const std::string& etag) {
  std::string text = trim(etag);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

/// One field of an <Object> to delete; false if it is broken.
bool set_field(DeleteAsked::Object& object, std::string_view name, std::string text) {
  if (name == "Key") {
    object.key = std::move(text);
  } else if (name == "VersionId") {
    object.version_id = std::move(text);
  } else if (name == "ETag") {
    object.etag = without_quotes(text);
  } else if (name == "Size") {
    object.size = whole_number(text);
    return object.size.has_value();
  } else if (name == "LastModifiedTime") {
    object.modified = parse_http_date(text);
    if (!object.modified) object.modified = parse_iso_date(text);
    return object.modified.has_value();
  }
  return true;
}

Document<DeleteAsked::Object> read_object(const pugi::xml_node& element) {
  DeleteAsked::Object object;
  for (const pugi::xml_node& field : element.children()) {
    if (field.type() != pugi::node_element) continue;
    std::optional<std::string> text = text_in(field);
    if (!text || !set_field(object, field.name(), std::move(*text)))
      return aws::s3_refusal("MalformedXML");
  }
  if (object.key.empty()) return aws::s3_refusal("MalformedXML");
  if (object.key.size() > key_bytes_max) return aws::s3_refusal("KeyTooLongError");
  return object;
}

Document<CompletePart> read_part(const pugi::xml_node& element) {
  constexpr std::array kinds = {Checksum::crc32, Checksum::crc32c, Checksum::crc64nvme,
                                Checksum::sha1, Checksum::sha256};
  CompletePart part;
  for (const pugi::xml_node& field : element.children()) {
    if (field.type() != pugi::node_element) continue;
    const std::string_view name = field.name();
    const std::optional<std::string> text = text_in(field);
    if (!text) return aws::s3_refusal("MalformedXML");
    if (name == "ETag") part.etag = without_quotes(*text);
    if (name == "PartNumber") {
      const std::optional<std::uint64_t> number = whole_number(trim(*text));
      if (!number || *number < 1 || *number > parts_max)
        return aws::s3_refusal("InvalidArgument", "PartNumber must be between 1 and 10000");
      part.number = static_cast<int>(*number);
    }
    for (const Checksum kind : kinds) {
      if (name != checksum_element(kind)) continue;
      std::optional<std::string> bytes = from_base64(trim(*text));
      if (!bytes || bytes->size() != digest_bytes(kind)) return aws::s3_refusal("InvalidPart");
      part.checksum = GivenChecksum{kind, std::move(*bytes)};
    }
  }
  if (part.number == 0 || part.etag.empty()) return aws::s3_refusal("MalformedXML");
  return part;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

Checked check_tags(const aws::Pairs& tags) {
  if (tags.size() > tags_max)
    return aws::s3_refusal("InvalidTag", "Object tags cannot be greater than 10");
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const auto& [key, value] = tags[i];
    if (key.empty() || characters(key) > tag_key_characters_max)
      return aws::s3_refusal("InvalidTag", "The TagKey you have provided is invalid");
    if (characters(value) > tag_value_characters_max)
      return aws::s3_refusal("InvalidTag", "The TagValue you have provided is invalid");
    for (std::size_t k = 0; k < i; ++k)
      if (tags[k].first == key)
        return aws::s3_refusal("InvalidTag", "Cannot provide multiple Tags with the same key");
  }
  return {};
}

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Document<DeleteAsked> read_delete(std::string_view xml) {
  pugi::xml_document document;
  TRY(load(document, xml, "Delete"));
  DeleteAsked asked;
  for (const pugi::xml_node& node : document.document_element()) {
    const std::string_view name = node.name();
    if (name == "Quiet") asked.quiet = trim(text_in(node).value_or("")) == "true";
    if (name != "Object") continue;
    if (asked.objects.size() == deletes_max) return aws::s3_refusal("MalformedXML");
    asked.objects.push_back(TRY(read_object(node)));
  }
  if (asked.objects.empty()) return aws::s3_refusal("MalformedXML");
  return asked;
}

Document<std::vector<CompletePart>> read_complete(std::string_view xml) {
  if (xml.empty()) return aws::s3_refusal("MalformedXML");
  pugi::xml_document document;
  TRY(load(document, xml, "CompleteMultipartUpload"));
  std::vector<CompletePart> parts;
  for (const pugi::xml_node& node : document.document_element().children("Part")) {
    CompletePart one = TRY(read_part(node));
    if (!parts.empty() && one.number <= parts.back().number)
      return aws::s3_refusal("InvalidPartOrder");
    parts.push_back(std::move(one));
  }
  if (parts.empty()) return aws::s3_refusal("MalformedXML");
  return parts;
}

Document<std::string> read_create_bucket(std::string_view xml) {
  if (xml.empty()) return std::string();
  pugi::xml_document document;
  TRY(load(document, xml, "CreateBucketConfiguration"));
  std::optional<std::string> place =
      text_in(document.document_element().child("LocationConstraint"));
  if (!place) return aws::s3_refusal("MalformedXML");
  return trim(*place);
}

Document<aws::Pairs> read_tagging(std::string_view xml) {
  pugi::xml_document document;
  TRY(load(document, xml, "Tagging"));
  const pugi::xml_node set = document.document_element().child("TagSet");
  if (!set) return aws::s3_refusal("MalformedXML");
  aws::Pairs tags;
  for (const pugi::xml_node& tag : set.children("Tag")) {
    std::optional<std::string> key = text_in(tag.child("Key"));
    std::optional<std::string> value = text_in(tag.child("Value"));
    if (!key || !value || !tag.child("Key") || tags.size() > tags_max)
      return aws::s3_refusal(tags.size() > tags_max ? "InvalidTag" : "MalformedXML");
    tags.emplace_back(std::move(*key), std::move(*value));
  }
  TRY(check_tags(tags));
  return tags;
}

Document<aws::Pairs> read_tagging_header(std::string_view text) {
  std::optional<aws::Pairs> tags = aws::decoded_query(text);
  if (!tags)
    return aws::s3_refusal(
        "InvalidArgument",
        "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL "
        "query parameters without tag name duplicates.");
  for (const auto& [key, value] : *tags)
    if (!is_utf8(key) || !is_utf8(value)) return aws::s3_refusal("InvalidTag");
  TRY(check_tags(*tags));
  std::sort(tags->begin(), tags->end());
  return std::move(*tags);
}

}  // namespace muster::s3wire
