#include "aws/access/version_2.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>

#include "aws/percent.h"
#include "aws/request_head.h"
#include "aws/sign.h"
#include "base/base64.h"
#include "base/text.h"

namespace muster::access {
namespace {

constexpr std::array own = {"AWSAccessKeyId", "Signature", "Expires"};
/// What of the query is signed as a part of the resource.
constexpr std::array in_resource = {"partNumber",
                                    "response-cache-control",
                                    "response-content-disposition",
                                    "response-content-encoding",
                                    "response-content-language",
                                    "response-content-type",
                                    "response-expires",
                                    "uploadId",
                                    "versionId"};

template <class List>
bool lists(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// A parameter that replaces a header: this is how clients pass on signed headers.
bool stands_for_header(std::string_view name) {
  return aws::is_x_amz(name) || same_letters(name, "content-type") ||
         same_letters(name, "content-md5");
}

/// Names as they come, values decoded as a path is: '+' is itself.
aws::Pairs parameters(const aws::RequestHead& head) {
  aws::Pairs found;
  for (const std::string& one : split(head.query(), '&')) {
    if (one.empty()) continue;
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view value = std::string_view(one).substr(std::min(equals + 1, one.size()));
    found.emplace_back(one.substr(0, equals),
                       aws::percent_decoded(value, false).value_or(std::string()));
  }
  return found;
}

std::string value_of(const aws::Pairs& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs)
    if (key == name) return value;
  return {};
}

AuthRefusal refused(std::string why) {
  return {AuthFailure::unsupported, std::move(why), {}};
}

/// Each parameter once, and none that is not signed.
Result<void, AuthRefusal> check_parameters(const aws::RequestHead& head, const aws::Pairs& query) {
  std::map<std::string, int> counts;
  for (const auto& [name, value] : query) {
    if (++counts[lower_case(name)] > 1)
      return AuthRefusal{AuthFailure::malformed_query, to_utf8(name) + " appears twice.", {}};
    if (lists(own, name) || lists(in_resource, name)) continue;
    if (!stands_for_header(name))
      return refused(
          "Signature Version 2 does not sign the parameter \"" + to_utf8(name) +
          "\". Please use AWS4-HMAC-SHA256; in boto3, set Config(signature_version='s3v4').");
    const std::optional<std::string_view> header = head.header(name);
    if (header && trim(*header) != trim(value))
      return refused("The header " + to_utf8(name) +
                     " and the URL parameter of the same name have different values.");
  }
  return {};
}

/// The header, or the parameter that replaces it.
std::string header_or_parameter(const aws::RequestHead& head, const aws::Pairs& query,
                                std::string_view name) {
  if (const std::optional<std::string_view> header = head.header(name)) return std::string(*header);
  for (const auto& [key, value] : query)
    if (same_letters(key, name)) return value;
  return {};
}

}  // namespace

bool is_version_2(const aws::RequestHead& head) {
  const aws::Pairs query = parameters(head);
  return std::any_of(query.begin(), query.end(), [](const auto& pair) {
    return same_letters(pair.first, "AWSAccessKeyId") || same_letters(pair.first, "Signature");
  });
}

Result<Claim, AuthRefusal> claim_of_version_2(const aws::RequestHead& head) {
  const aws::Pairs query = parameters(head);
  TRY(check_parameters(head, query));
  for (const char* name : own)
    if (value_of(query, name).empty())
      return AuthRefusal{AuthFailure::malformed_query,
                         "Query-string authentication requires the Signature, Expires and "
                         "AWSAccessKeyId parameters",
                         {}};
  const std::optional<std::int64_t> expires = parse_integer(value_of(query, "Expires"));
  if (!expires || *expires < 0 || *expires > std::int64_t{1} << 40)
    return AuthRefusal{AuthFailure::bad_expires, "Expires should be seconds since 1970", {}};
  Claim claim;
  claim.presigned = true;
  claim.version_2 = true;
  claim.service = "s3";
  claim.access_key = claim.kept(value_of(query, "AWSAccessKeyId"));
  claim.signature = claim.kept(value_of(query, "Signature"));
  claim.time = UnixMillis(*expires * 1000);
  claim.time_text = claim.kept(value_of(query, "Expires"));
  claim.token = claim.kept(header_or_parameter(head, query, "x-amz-security-token"));
  claim.payload = claim.kept(header_or_parameter(head, query, "x-amz-content-sha256"));
  return claim;
}

std::string version_2_text(const aws::RequestHead& head, std::string_view bucket) {
  const aws::Pairs query = parameters(head);
  std::map<std::string, std::string> amz;
  for (const auto& [name, value] : head.headers) {
    if (!aws::is_x_amz(name)) continue;
    std::string& line = amz[lower_case(name)];
    line += (line.empty() ? "" : ",") + trim(value);
  }
  aws::Pairs signed_query;
  for (const auto& [name, value] : query) {
    if (aws::is_x_amz(name)) amz.emplace(lower_case(name), trim(value));
    if (lists(in_resource, name)) signed_query.emplace_back(name, value);
  }
  std::sort(signed_query.begin(), signed_query.end());
  std::string text(head.method);
  (text += '\n') += header_or_parameter(head, query, "content-md5");
  (text += '\n') += header_or_parameter(head, query, "content-type");
  ((text += '\n') += value_of(query, "Expires")) += '\n';
  for (const auto& [name, value] : amz) (((text += name) += ':') += value) += '\n';
  if (!bucket.empty()) (text += '/') += bucket;
  text += head.path();
  char before = '?';
  for (const auto& [name, value] : signed_query) {
    ((text += before) += name) += '=';
    text += value;
    before = '&';
  }
  return text;
}

std::string version_2_signature(std::string_view secret, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  CHECK_THAT(HMAC(EVP_sha1(), secret.data(), static_cast<int>(secret.size()), data, text.size(),
                  bytes.data(), &size) != nullptr,
             "HMAC");
  return base64({reinterpret_cast<const char*>(bytes.data()), size});
}

}  // namespace muster::access
