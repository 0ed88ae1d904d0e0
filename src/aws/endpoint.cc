#include "aws/endpoint.h"

#include <algorithm>

#include "aws/sign.h"
#include "base/letters.h"

namespace muster::aws {
namespace {

std::string first_of(const Env& env, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto at = env.find(name);
    if (at != env.end() && !at->second.empty()) return at->second;
  }
  return "";
}

/// A name that is one label of a host: the certificate is for *.s3.REGION only.
bool fits_host(const std::string& bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && is_lower_or_digit(bucket.front()) &&
         is_lower_or_digit(bucket.back()) && std::all_of(bucket.begin(), bucket.end(), [](char c) {
           return is_lower_or_digit(c) || c == '-';
         });
}

}  // namespace

Result<std::string> region_from(const Env& env) {
  const std::string region =
      first_of(env, {"AWS_REGION", "AWS_DEFAULT_REGION", "SAGEMAKER_REGION"});
  if (region.empty()) return std::string("us-east-1");
  const bool plausible =
      region.size() <= 63 && std::all_of(region.begin(), region.end(),
                                         [](char c) { return is_lower_or_digit(c) || c == '-'; });
  if (!plausible)
    return fail(Errc::invalid_input,
                "AWS_REGION: expected lower-case letters, digits and '-', such as eu-west-1");
  return region;
}

std::string endpoint_setting(const Env& env, const std::string& service) {
  const std::string own = "AWS_ENDPOINT_URL_" + service;
  const std::string url = first_of(env, {own.c_str(), "AWS_ENDPOINT_URL"});
  return url.empty() && service == "S3" ? first_of(env, {"S3_ENDPOINT_URL"}) : url;
}

std::string domain_of(const std::string& region) {
  if (region.starts_with("cn-")) return "amazonaws.com.cn";
  if (region.starts_with("us-isob-")) return "sc2s.sgov.gov";
  if (region.starts_with("us-iso-")) return "c2s.ic.gov";
  return "amazonaws.com";
}

Result<S3Endpoint> S3Endpoint::from(const Env& env) {
  S3Endpoint endpoint;
  const std::string setting = endpoint_setting(env, "S3");
  if (setting.empty()) return endpoint;
  Result<http::Url> url = http::parse_url(setting);
  if (!url) return url.error().in("the S3 endpoint (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)");
  endpoint.custom_ = true;
  endpoint.url_ = *std::move(url);
  std::string& path = endpoint.url_.target;
  if (path.find('?') != std::string::npos)
    return fail(Errc::invalid_input,
                "the S3 endpoint must not contain a query string; expected http(s)://host:port");
  while (path.ends_with('/')) path.pop_back();
  return endpoint;
}

S3Place S3Endpoint::place(const std::string& bucket, const std::string& region) const {
  const std::string by_path = "/" + percent_encoded(bucket, false);
  if (custom_) return {url_.origin, url_.target + by_path};
  const std::string server = "s3." + region + "." + domain_of(region);
  if (!fits_host(bucket)) return {{.tls = true, .host = server, .port = 443}, by_path};
  return {{.tls = true, .host = bucket + "." + server, .port = 443}, ""};
}

}  // namespace muster::aws
