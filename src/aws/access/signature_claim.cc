#include "aws/access/signature_claim.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "aws/access/canonical.h"
#include "aws/access/version_2.h"
#include "aws/percent.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::access {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";
constexpr std::int64_t presigned_seconds_max = 604800;

/// What says whose a request is, where and when: two of one could be read as either.
constexpr std::array single_headers = {
    "authorization",        "host",        "x-amz-date", "date", "x-amz-security-token",
    "x-amz-content-sha256", "x-amz-target"};
constexpr std::array query_parts = {
    "X-Amz-Algorithm",     "X-Amz-Credential", "X-Amz-Signature",      "X-Amz-Date",
    "X-Amz-SignedHeaders", "X-Amz-Expires",    "X-Amz-Security-Token", "X-Amz-Content-Sha256"};

bool is_day(std::string_view text) {
  return text.size() == 8 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_signature(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Takes the credential apart; why not, if it cannot be.
std::optional<std::string> set_scope(Claim& claim) {
  constexpr const char* want =
      "the Credential is mal-formed; expecting "
      "\"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".";
  std::array<std::string_view, 5> parts;
  std::string_view rest = claim.credential;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    const std::size_t end = last ? rest.size() : rest.find('/');
    if (end == std::string_view::npos) return want;
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  claim.access_key = parts[0];
  claim.day = parts[1];
  claim.region = parts[2];
  claim.service = parts[3];
  if (parts[4].find('/') != std::string_view::npos) return want;
  if (claim.access_key.empty() || claim.region.empty() || claim.service.empty()) return want;
  if (!is_day(claim.day))
    return "incorrect date format \"" + to_utf8(claim.day) +
           "\". This date in the credential must be in the format \"yyyyMMdd\".";
  if (parts[4] != "aws4_request")
    return "incorrect terminal \"" + to_utf8(parts[4]) + "\". This endpoint uses \"aws4_request\".";
  claim.scope = claim.credential.substr(claim.access_key.size() + 1);
  return std::nullopt;
}

/// HTTP's forms, botocore's ("… 15:04:05 -0000"), and x-amz-date's.
std::optional<UnixMillis> parse_date_header(std::string_view text) {
  std::string date(text);
  if (date.ends_with(" -0000") || date.ends_with(" +0000")) date.replace(date.size() - 5, 5, "GMT");
  const std::optional<UnixMillis> time = parse_http_date(date);
  return time ? time : parse_amz_date(date);
}

Result<void, AuthRefusal> set_time(Claim& claim, const aws::RequestHead& head) {
  if (const std::optional<std::string_view> text = head.header("x-amz-date")) {
    const std::optional<UnixMillis> time = parse_amz_date(*text);
    if (!time) return AuthRefusal{AuthFailure::no_date, "", {}};
    claim.time = *time;
    claim.time_text = *text;
    return {};
  }
  const std::optional<std::string_view> date = head.header("date");
  std::optional<UnixMillis> time;
  if (date) time = parse_date_header(*date);
  if (!time) return AuthRefusal{AuthFailure::no_date, "", {}};
  claim.time = *time;
  claim.time_text = claim.kept(amz_date(*time));
  return {};
}

/// Takes the parts of the Authorization header apart, behind the algorithm; why not, if they are
/// not exactly Credential, SignedHeaders and Signature.
std::optional<std::string> set_parts(Claim& claim, std::string_view text) {
  bool more = text.find_first_not_of(' ') != std::string_view::npos;
  while (more) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, end);
    more = end < text.size();
    text.remove_prefix(std::min(end + 1, text.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    std::string_view* to = nullptr;
    if (name == "Credential") to = &claim.credential;
    if (name == "SignedHeaders") to = &claim.signed_headers;
    if (name == "Signature") to = &claim.signature;
    if (to == nullptr)
      return '"' + to_utf8(name) +
             "\" is not part of it; expecting Credential, SignedHeaders, Signature.";
    if (to->data() != nullptr) return std::string(name) + " appears twice.";
    *to = part.substr(std::min(equals + 1, part.size()));
  }
  return std::nullopt;
}

std::string missing_parts(const Claim& claim) {
  std::string text;
  const auto add = [&](const char* name, std::string_view value) {
    if (value.empty())
      text += (text.empty() ? "" : " ") + ("Authorization header requires '" + std::string(name)) +
              "' parameter.";
  };
  add("Credential", claim.credential);
  add("Signature", claim.signature);
  add("SignedHeaders", claim.signed_headers);
  return text;
}

/// Calls `take(value)`, still encoded, for each parameter of that name, in any case.
template <class Take>
void each_parameter(const aws::RequestHead& head, std::string_view name, const Take& take) {
  std::string_view query = head.query();
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    if (!same_letters(one.substr(0, equals), name)) continue;
    take(one.substr(std::min(equals + 1, one.size())));
  }
}

int count_in_query(const aws::RequestHead& head, std::string_view name) {
  int count = 0;
  each_parameter(head, name, [&](std::string_view) { ++count; });
  return count;
}

/// The value of one parameter of the query, decoded; none if it is not there.
std::optional<std::string> query_parameter(const aws::RequestHead& head, std::string_view name) {
  std::optional<std::string> found;
  each_parameter(head, name, [&](std::string_view value) {
    if (!found) found = aws::percent_decoded(value, true).value_or("");
  });
  return found;
}

Result<void, AuthRefusal> set_expires(Claim& claim, const aws::RequestHead& head) {
  const std::string text = query_parameter(head, "X-Amz-Expires").value_or("");
  const std::optional<std::int64_t> seconds = parse_integer(text);
  const char* why = nullptr;
  if (!seconds)
    why = "X-Amz-Expires should be a number";
  else if (*seconds < 0)
    why = "X-Amz-Expires must be non-negative";
  else if (*seconds > presigned_seconds_max)
    why =
        "X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires "
        "must be less than 604800 seconds";
  if (why != nullptr) return AuthRefusal{AuthFailure::bad_expires, why, {}};
  claim.expires = std::chrono::seconds(*seconds);
  return {};
}

AuthRefusal version_2() {
  return {AuthFailure::unsupported,
          "Signature Version 2 is not supported in the Authorization header. Please use "
          "AWS4-HMAC-SHA256; in boto3, set Config(signature_version='s3v4').",
          {}};
}

/// `parts` is the Authorization header behind the algorithm.
Result<Claim, AuthRefusal> claim_of_header(const aws::RequestHead& head, std::string_view parts) {
  Claim claim;
  if (std::optional<std::string> why = set_parts(claim, parts))
    return AuthRefusal{AuthFailure::malformed_header, std::move(*why), {}};
  if (std::string missing = missing_parts(claim); !missing.empty())
    return AuthRefusal{AuthFailure::incomplete, std::move(missing), {}};
  if (std::optional<std::string> why = set_scope(claim))
    return AuthRefusal{AuthFailure::malformed_header, std::move(*why), {}};
  TRY(set_time(claim, head));
  if (claim.time_text.substr(0, 8) != claim.day)
    return AuthRefusal{AuthFailure::malformed_header,
                       "Invalid credential date \"" + std::string(claim.day) +
                           "\". This date is not the same as X-Amz-Date: \"" +
                           std::string(claim.time_text.substr(0, 8)) + "\".",
                       {}};
  if (!is_signature(claim.signature)) return AuthRefusal{AuthFailure::mismatch, "", {}};
  claim.token = head.header("x-amz-security-token").value_or("");
  claim.payload = head.header("x-amz-content-sha256").value_or("");
  return claim;
}

Result<Claim, AuthRefusal> claim_of_query(const aws::RequestHead& head) {
  Claim claim;
  claim.presigned = true;
  for (const auto& [name, to] :
       {std::pair{"X-Amz-Algorithm", static_cast<std::string_view*>(nullptr)},
        std::pair{"X-Amz-Credential", &claim.credential},
        std::pair{"X-Amz-Signature", &claim.signature}, std::pair{"X-Amz-Date", &claim.time_text},
        std::pair{"X-Amz-SignedHeaders", &claim.signed_headers},
        std::pair{"X-Amz-Expires", static_cast<std::string_view*>(nullptr)}}) {
    std::string value = query_parameter(head, name).value_or("");
    if (value.empty())
      return AuthRefusal{AuthFailure::malformed_query,
                         "Query-string authentication version 4 requires the X-Amz-Algorithm, "
                         "X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and "
                         "X-Amz-Expires parameters.",
                         {}};
    if (to != nullptr) *to = claim.kept(std::move(value));
  }
  if (std::optional<std::string> why = set_scope(claim))
    return AuthRefusal{AuthFailure::malformed_query,
                       "Error parsing the X-Amz-Credential parameter; " + std::move(*why),
                       {}};
  const std::optional<UnixMillis> time = parse_amz_date(claim.time_text);
  if (!time)
    return AuthRefusal{AuthFailure::malformed_query,
                       "X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"",
                       {}};
  claim.time = *time;
  if (claim.time_text.substr(0, 8) != claim.day)
    return AuthRefusal{AuthFailure::malformed_query,
                       "Invalid credential date \"" + std::string(claim.day) +
                           "\". This date is not the same as X-Amz-Date: \"" +
                           std::string(claim.time_text.substr(0, 8)) + "\".",
                       {}};
  TRY(set_expires(claim, head));
  if (!is_signature(claim.signature)) return AuthRefusal{AuthFailure::mismatch, "", {}};
  claim.token = claim.kept(query_parameter(head, "X-Amz-Security-Token").value_or(""));
  claim.payload = claim.kept(query_parameter(head, "X-Amz-Content-Sha256").value_or(""));
  if (claim.payload.empty()) claim.payload = head.header("x-amz-content-sha256").value_or("");
  return claim;
}

/// Nothing may come twice that says whose the request is.
Result<void, AuthRefusal> check_single(const aws::RequestHead& head) {
  for (const char* name : single_headers)
    if (std::count_if(head.headers.begin(), head.headers.end(),
                      [&](const auto& pair) { return same_letters(pair.first, name); }) > 1)
      return AuthRefusal{AuthFailure::malformed_header, std::string(name) + " appears twice.", {}};
  for (const char* name : query_parts)
    if (count_in_query(head, name) > 1)
      return AuthRefusal{AuthFailure::malformed_query, std::string(name) + " appears twice.", {}};
  return {};
}

}  // namespace

Result<Claim, AuthRefusal> read_claim(const aws::RequestHead& head) {
  TRY(check_single(head));
  std::string_view authorization = head.header("authorization").value_or("");
  const bool in_query = query_parameter(head, "X-Amz-Algorithm") ||
                        query_parameter(head, "X-Amz-Credential") ||
                        query_parameter(head, "X-Amz-Signature");
  const bool in_query_2 = is_version_2(head);
  if ((!authorization.empty() && (in_query || in_query_2)) || (in_query && in_query_2))
    return AuthRefusal{AuthFailure::two_signatures, "", {}};
  if (!authorization.empty()) {
    const std::string_view scheme = authorization.substr(0, authorization.find(' '));
    if (scheme == "AWS") return version_2();
    if (scheme != algorithm) return AuthRefusal{AuthFailure::unsupported, "", {}};
    authorization.remove_prefix(algorithm.size());
    return claim_of_header(head, authorization);
  }
  if (in_query) {
    if (query_parameter(head, "X-Amz-Algorithm").value_or(std::string(algorithm)) != algorithm)
      return AuthRefusal{AuthFailure::unsupported, "", {}};
    return claim_of_query(head);
  }
  if (in_query_2) return claim_of_version_2(head);
  return AuthRefusal{AuthFailure::missing, "", {}};
}

}  // namespace muster::access
