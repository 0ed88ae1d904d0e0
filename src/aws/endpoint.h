#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "net/http/client.h"

namespace muster::aws {

/// AWS_REGION, AWS_DEFAULT_REGION, SAGEMAKER_REGION, else us-east-1. Error: `invalid_input` for an
/// invalid region name.
Result<std::string> region_from(const Env& env);

/// The address of a service that `env` sets: AWS_ENDPOINT_URL_<service>, AWS_ENDPOINT_URL, and for
/// S3 also S3_ENDPOINT_URL. Empty if none does. `service` in capitals, as in the names.
std::string endpoint_setting(const Env& env, const std::string& service);

/// Where requests about a bucket go.
struct S3Place {
  http::Origin origin;
  std::string path;  ///< "/bucket" or "", before "/key"; encoded.
};

/// The server that keeps the buckets.
class S3Endpoint {
 public:
  /// `url` empty: Amazon's own. Error: `invalid_input`.
  static Result<S3Endpoint> from(const Env& env);
  /// Amazon's own server of the region, by host (`bucket.s3.REGION…`) where the bucket's name fits
  /// a certificate, else by path; a server of one's own always by path.
  S3Place place(const std::string& bucket, const std::string& region) const;

 private:
  bool custom_ = false;
  http::Url url_;
};

/// "amazonaws.com", in China "amazonaws.com.cn" and so on.
std::string domain_of(const std::string& region);

}  // namespace muster::aws
