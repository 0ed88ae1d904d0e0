#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::image {

/// Logins as `docker login`, `podman login` and their like keep them.
///
/// Pure: texts in, values out; no error repeats what a file or a helper says.
/// Source: docker/cli, "docker login" (credential stores); containers-auth.json(5).

/// Credentials for a registry, or its token service.
struct Login {
  std::string user;
  std::string password;
  std::string identity_token;  ///< In place of both: a refresh token of OAuth 2.

  bool operator==(const Login&) const = default;
};

/// The files that may hold logins, in the order in which they are tried. One that `env` names is
/// the only one.
std::vector<std::string> login_files(const Env& env);

/// What one file says of a registry.
struct ConfiguredLogin {
  std::optional<Login> login;
  std::string helper;  ///< "ecr-login": asked before `login` counts; empty: none.
};
/// The login for `repository` of `registry` (image/reference.h): of the whole repository's name or
/// of the longest folder of it that has one, else of the registry. Error: `invalid_input`.
Result<ConfiguredLogin> login_in(std::string_view config, const std::string& registry,
                                 const std::string& repository);

/// How helpers, and Docker's own file, call a registry.
std::string helper_name_of(const std::string& registry);
/// The response to `docker-credential-HELPER get`; none: it does not know the registry.
/// `succeeded`: whether it exited with 0. Error: `denied`, without its message; `protocol` for a
/// malformed response.
Result<std::optional<Login>> login_from_helper(std::string_view answer, bool succeeded);

}  // namespace muster::image
