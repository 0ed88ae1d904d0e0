#pragma once

#include <string>

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "net/loop/loop.h"

namespace muster::code {

/// The parts of "arn:PARTITION:codeartifact:REGION:ACCOUNT:repository/DOMAIN/REPOSITORY".
struct CodeArtifactArn {
  std::string region;
  std::string account;
  std::string domain;
  std::string repository;

  bool operator==(const CodeArtifactArn&) const = default;
};
/// Error: `invalid_input`.
Result<CodeArtifactArn> parse_codeartifact_arn(const std::string& arn);

/// "https://aws:TOKEN@HOST/pypi/REPOSITORY/simple/" from the endpoint in the service's response.
/// Error: `protocol` if that is not an https URL.
Result<std::string> codeartifact_index_url(const std::string& endpoint,
                                           const std::string& repository, const std::string& token);

/// Requests a token from CodeArtifact and returns the index URL for pip. The URL contains the
/// token, so it is never logged. Errors: `invalid_input` (the ARN), otherwise as those of S3, with
/// the prefix "codeartifact: ". Source: the service's REST API, GetAuthorizationToken and
/// GetRepositoryEndpoint. `log` gets a warning for each retry.
loop::Task<Result<std::string>> codeartifact_index(loop::Loop& loop, Env env, std::string arn,
                                                   Log log = Log(2, "codeartifact",
                                                                 Log::Level::error));

}  // namespace muster::code
