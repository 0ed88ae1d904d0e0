#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/command.h"
#include "base/json.h"
#include "base/log.h"
#include "net/loop/loop.h"

namespace muster::s3client {
class S3Client;
}

namespace muster::cli {

/// A refusal as SageMaker's and CloudWatch Logs' protocols (AWS JSON 1.1) have it. Pure.
/// `code` may be empty. Errors: `not_found` (no such job), `denied` (key, signature, rights),
/// `invalid_input` (what was asked for), `system` (the server is in trouble).
Error api_error(int status, const std::string& code, const std::string& message,
                const std::string& key_origin);

/// A server of training jobs as a client sees it: by AWS's APIs, over HTTP.
class ApiClient {
 public:
  /// Whether a call waits for a server that is away, about half a minute.
  enum class Patience { none, some };

  /// Reads endpoint, keys and region from `env` as AWS's clients do; does not connect yet. `log`
  /// gets a warning for each retry. Error: `invalid_input`: no endpoint (Amazon's own is never used
  /// by accident), an endpoint that is not a URL, or half of a key pair.
  static Result<std::unique_ptr<ApiClient>> open(loop::Loop& loop, const Env& env, const Log& log);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  /// `target`: "SageMaker.StopTrainingJob", "Logs_20140328.GetLogEvents". The answer is an object.
  /// Errors: api_error()'s; `system`, `timeout` and so on: the server is not there.
  loop::Task<Result<Json>> call(std::string target, Json input, Patience patience);

  /// "http://127.0.0.1:7700": where SageMaker's calls go.
  std::string url() const;
  /// 12 digits: whose key it is.
  loop::Task<Result<std::string>> account();
  /// "sagemaker-REGION-ACCOUNT", as the SageMaker SDK names it; made if it is not there.
  loop::Task<Result<std::string>> default_bucket(std::string account);
  Result<s3client::S3Client*> s3();

 private:
  struct State;
  explicit ApiClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::cli
