#include "objects/verify_v2.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "objects/s3_request.h"

namespace muster::objects {
namespace {

/// Parameters that are part of the resource.
constexpr std::array<std::string_view, 33> signed_parameters = {
    "accelerate",
    "acl",
    "analytics",
    "cors",
    "defaultObjectAcl",
    "delete",
    "inventory",
    "lifecycle",
    "location",
    "logging",
    "metrics",
    "notification",
    "partNumber",
    "policy",
    "replication",
    "requestPayment",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "restore",
    "select",
    "select-type",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versionId",
    "versioning",
    "versions",
    "website",
};
static_assert(std::is_sorted(signed_parameters.begin(), signed_parameters.end()));

/// "a:1\nb:2\n" of the x-amz- headers, and of such in the query, sorted.
std::string amz_lines(const RequestHead& head, const Pairs& query) {
  std::map<std::string, std::string> lines;
  for (const auto& [name, value] : head.headers) {
    std::string low = lower_case(name);
    if (!low.starts_with("x-amz-")) continue;
    std::string& line = lines[std::move(low)];
    line += (line.empty() ? "" : ",") + trim(value);
  }
  // A header that went into the URL counts as one, unless it comes as a header too.
  for (const auto& [name, value] : query)
    if (std::string low = lower_case(name); low.starts_with("x-amz-"))
      lines.try_emplace(std::move(low), trim(value));
  std::string text;
  for (const auto& [name, value] : lines) text += name + ":" + value + "\n";
  return text;
}

}  // namespace

std::string text_to_sign_v2(const RequestHead& head, const ClaimV2& claim,
                            std::string_view bucket_path) {
  const Pairs query = decoded_query(head.query()).value_or(Pairs());
  std::string text(head.method);
  for (const char* name : {"content-md5", "content-type"}) {
    const std::string in_query = query_parameter(head, name).value_or("");
    (text += '\n') += head.header(name).value_or(in_query);
  }
  text += "\n" + claim.expires_text + "\n" + amz_lines(head, query);
  (text += bucket_path) += head.path();
  // botocore signs "/bucket/" for what it sends as "/bucket".
  if (bucket_path.empty() && head.path().rfind('/') == 0 && head.path().size() > 1) text += '/';
  Pairs parameters;
  for (const auto& pair : query)
    if (std::binary_search(signed_parameters.begin(), signed_parameters.end(), pair.first))
      parameters.push_back(pair);
  std::sort(parameters.begin(), parameters.end());
  bool first = true;
  for (const auto& [name, value] : parameters) {
    text += (first ? "?" : "&") + name;
    if (!value.empty()) text += "=" + value;
    first = false;
  }
  return text;
}

}  // namespace muster::objects
