#include "aws/s3client/s3_list.h"

#include <pugixml.hpp>

#include "aws/s3client/s3_call.h"
#include "aws/s3wire/s3_key.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::s3client {
namespace {

/// Text that came by encoding-type=url, decoded: a space may come as '+'.
std::string url_decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::optional<std::string> byte =
        text[i] == '%' ? from_hex(text.substr(i + 1, 2)) : std::nullopt;
    if (byte && byte->size() == 1) {
      plain += *byte;
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

}  // namespace

Result<S3Page> parse_listing(std::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata);
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!parsed || !root) return fail(Errc::protocol, "the server's list of objects is invalid");
  const bool encoded = root.child_value("EncodingType") == std::string_view("url");
  S3Page page;
  for (const pugi::xml_node node : root.children("Contents")) {
    const std::string_view name = node.child_value("Key");
    S3Object object{encoded ? url_decoded(name) : std::string(name), 0, node.child_value("ETag")};
    const std::optional<std::int64_t> bytes = parse_integer(node.child_value("Size"));
    if (object.key.empty() || object.key.size() > s3wire::key_bytes_max || !bytes || *bytes < 0)
      return fail(Errc::protocol,
                  "the server's list contains an object without a valid key or size");
    object.bytes = static_cast<std::uint64_t>(*bytes);
    object.modified = parse_iso_date(node.child_value("LastModified")).value_or(UnixMillis(0));
    page.objects.push_back(std::move(object));
  }
  if (root.child_value("IsTruncated") != std::string_view("true")) return page;
  page.next = root.child_value("NextContinuationToken");
  if (page.next.empty())
    return fail(Errc::protocol,
                "the server's list of objects is truncated but has no continuation token");
  return page;
}

loop::Task<Result<S3Page>> list_page(std::shared_ptr<S3State> state, s3wire::S3Url start,
                                     std::string next) {
  S3Request request{.method = "GET",
                    .url = {start.bucket, ""},
                    .query = {{"list-type", "2"},
                              {"prefix", start.key},
                              {"max-keys", "1000"},
                              {"encoding-type", "url"}}};
  if (!next.empty()) request.query.emplace_back("continuation-token", next);
  Result<S3Answer> answer = co_await s3_call(state, std::move(request));
  if (!answer) co_return answer.error();
  Result<S3Page> page = parse_listing(answer->text);
  if (!page) co_return page.error().in(s3wire::text_of(start));
  if (!next.empty() && page->next == next)
    co_return fail(Errc::protocol, s3wire::text_of(start) +
                                       ": the server returned the same page of the list again");
  co_return page;
}

}  // namespace muster::s3client
