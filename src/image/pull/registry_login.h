#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "aws/retry.h"
#include "base/command.h"
#include "base/log.h"
#include "image/pull/docker_config.h"
#include "image/reference.h"
#include "net/loop/loop.h"

namespace muster::image {

/// A login, and what an error may say of where it came from.
struct FoundLogin {
  Login login;
  std::string origin;  ///< "/root/.docker/config.json", "docker-credential-pass"
};

struct LoginOptions {
  std::optional<Login> given{};  ///< Counts before all others.
  std::string ca_roots{};        ///< For ECR's API.
  Duration helper_max = std::chrono::seconds(30);
  aws::RetryOptions retry{};  ///< For ECR's API.
};

/// The login for an image, in this order: the one passed in; the first in login_files() of `env` or
/// their helpers; for an Amazon registry, a token for the AWS credentials in `env`; none if all are
/// missing. Errors: as read_file() and login_in() (the file is named), `denied` (a helper failed;
/// an ECR registry without AWS credentials), ask_helper()'s.
loop::Task<Result<std::optional<FoundLogin>>> find_login(loop::Loop& loop, const Log& log, Env env,
                                                         Reference image, LoginOptions options);

/// "123456789012.dkr.ecr.eu-west-1.amazonaws.com", with a port or without; none for any other.
struct EcrRegistry {
  std::string account;
  std::string region;
  std::string domain;  ///< "amazonaws.com"

  bool operator==(const EcrRegistry&) const = default;
};
std::optional<EcrRegistry> ecr_registry(std::string_view registry);
/// GetAuthorizationToken's answer. Error: `protocol`, which repeats nothing of it.
Result<Login> login_from_ecr(std::string_view answer);

}  // namespace muster::image
