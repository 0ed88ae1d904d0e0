#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aws/sign.h"
#include "base/command.h"
#include "base/log.h"
#include "base/time.h"
#include "net/http/client.h"

namespace muster::aws {

/// The endpoint from which a container on ECS, EKS or SageMaker gets its credentials.
struct CredentialsEndpoint {
  http::Url url;
  std::string token;       ///< For the Authorization header; empty: none.
  std::string token_file;  ///< Holds the token, read for each request; empty: `token` counts.
};

/// A section of the shared file.
struct CredentialsFile {
  std::string path;
  std::string profile;
  bool named = false;  ///< AWS_PROFILE asked for it, so it must be there.
};

/// What `env` says about credentials, in the order in which they are tried (botocore's): the
/// variables themselves, the shared file, the container's endpoint.
struct CredentialSources {
  std::optional<Credentials> variables;
  std::optional<CredentialsFile> file;
  std::optional<CredentialsEndpoint> endpoint;
};
/// Errors: `invalid_input`: half of a key pair; an endpoint that is not a URL, or uses http to an
/// address other than this machine's and those of ECS (169.254.170.2) and EKS (169.254.170.23,
/// fd00:ec2::23). No text contains a secret value.
Result<CredentialSources> credential_sources(const Env& env);

/// The profile's keys in a shared file's text; none if it has no such profile or no key in it.
/// Error: `invalid_input`: half of a key pair.
Result<std::optional<Credentials>> credentials_in(std::string_view text,
                                                  const std::string& profile);

struct FetchedCredentials {
  Credentials credentials;
  std::optional<UnixMillis> expires;
};
/// The endpoint's JSON answer. Error: `protocol`; no text repeats the answer.
Result<FetchedCredentials> credentials_from_json(std::string_view text);

/// Provides credentials, and asks the container's endpoint for new ones before they expire. Calls
/// may overlap.
class CredentialProvider {
 public:
  CredentialProvider(loop::Loop& loop, CredentialSources sources, std::string ca_roots);
  /// Errors: `denied` if none were found (the text says where it looked) or the endpoint refused;
  /// the errors of an HTTP exchange.
  loop::Task<Result<Credentials>> get();
  /// Where the keys came from, as text that errors may contain: "AWS_ACCESS_KEY_ID",
  /// "~/.aws/credentials".
  const std::string& origin() const { return origin_; }
  /// Forgets fetched credentials, because the server rejected them.
  void forget() { cached_.reset(); }

 private:
  loop::Task<Result<FetchedCredentials>> fetch(CredentialsEndpoint endpoint);

  loop::Loop& loop_;
  CredentialSources sources_;
  http::Client http_;
  std::string origin_;
  std::optional<FetchedCredentials> cached_;
};

}  // namespace muster::aws
