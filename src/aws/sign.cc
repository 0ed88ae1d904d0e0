#include "aws/sign.h"

#include <algorithm>

#include "aws/digest.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::aws {
namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

/// Spaces in a row count as one, those at the ends as none.
std::string folded(std::string_view value) {
  return join(split_words(value), " ");
}

struct CanonicalHeaders {
  std::string lines;
  std::string names;  ///< "host;x-amz-date"
};

CanonicalHeaders canonical(Pairs headers) {
  for (auto& [name, value] : headers) {
    name = lower_case(std::move(name));
    value = folded(value);
  }
  std::stable_sort(headers.begin(), headers.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  CanonicalHeaders result;
  for (const auto& [name, value] : headers) {
    result.lines += name + ":" + value + "\n";
    result.names += (result.names.empty() ? "" : ";") + name;
  }
  return result;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  return hex(view_of(sha256(bytes)));
}

Pairs sign(const SignRequest& request, const SignScope& scope, const Credentials& credentials) {
  const std::string time = amz_date(scope.now);
  const std::string day = time.substr(0, 8);
  const bool s3 = scope.service == "s3";
  Pairs added = {{"x-amz-date", time}};
  if (s3) added.emplace_back("x-amz-content-sha256", request.payload_hash);
  if (!credentials.session_token.empty())
    added.emplace_back("x-amz-security-token", credentials.session_token);

  Pairs headers = request.headers;
  headers.insert(headers.end(), added.begin(), added.end());
  const CanonicalHeaders canonical_headers = canonical(std::move(headers));
  const std::string path = s3 ? request.path : percent_encoded(request.path, true);
  const std::string canonical_request =
      join({request.method, path, encoded_query(request.query), canonical_headers.lines,
            canonical_headers.names, request.payload_hash},
           "\n");
  const std::string place = join({day, scope.region, scope.service, "aws4_request"}, "/");
  const std::string to_sign =
      join({std::string(algorithm), time, place, sha256_hex(canonical_request)}, "\n");

  std::string key = "AWS4" + credentials.secret_key;
  for (const std::string& part : {day, scope.region, scope.service, std::string("aws4_request")})
    key = view_of(hmac_sha256(key, part));
  added.emplace_back("Authorization", std::string(algorithm) +
                                          " Credential=" + credentials.access_key + "/" + place +
                                          ", SignedHeaders=" + canonical_headers.names +
                                          ", Signature=" + hex(view_of(hmac_sha256(key, to_sign))));
  return added;
}

}  // namespace muster::aws
