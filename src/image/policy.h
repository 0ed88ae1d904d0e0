#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/reference.h"
#include "image/signature.h"

namespace muster::image {

/// Rules on which images are taken, by where they come from and who signed them: a policy.json as
/// skopeo, podman and their like read it.
///
/// Pure; image/policy_read.h reads one.
/// Source: containers-policy.json(5), containers/image 5.23.

/// What the name in a signature has to be.
struct SignedIdentity {
  enum class Rule {
    repo_digest_or_exact,  ///< The image's; with a digest any of its repository.
    exact,                 ///< The image's, with its tag.
    repository,            ///< Any of the image's repository.
    exact_reference,       ///< `name`.
    exact_repository,      ///< Any of the repository `name`.
    remap,  ///< repo_digest_or_exact, after `name` at the image's begin became `signed_prefix`.
  };
  Rule rule = Rule::repo_digest_or_exact;
  std::string name{};
  std::string signed_prefix{};
};

struct Requirement {
  enum class Type { accept, reject, sigstore };
  Type type = Type::reject;
  std::string key_file{};  ///< For messages; "keyData" where the policy itself has the key.
  std::optional<PublicKey> key{};
  SignedIdentity identity{};
};

/// A scope, or the beginning of an image's name, with its registry as rules compare it: in lower
/// case, without the dot that may end a host's name. All spellings lead to the same registry.
std::string with_plain_registry(std::string_view name);

struct Policy {
  /// By scope, as with_plain_registry() has it; the empty one is the transport's own.
  using Scopes = std::map<std::string, std::vector<Requirement>>;
  std::vector<Requirement> otherwise;          ///< "default"
  std::map<std::string, Scopes> transports{};  ///< By skopeo's word: "docker", "oci".
};

/// What counts for an image: all of it has to be met. The longest scope that fits wins.
struct Ruling {
  std::vector<Requirement> requirements;  ///< Not empty.
  std::string origin;                     ///< For messages: "docker reg.lab/team", "default".
};
Ruling ruling_for(const Policy& policy, const Reference& image);
/// Whether anything but signatures refuses it, and whether signatures decide. Error: `denied`.
Result<bool> needs_signatures(const Policy& policy, const Reference& image);

/// Whether the policy takes the image whose manifest has `digest` under the name `image`, of
/// Transport::registry. Error: `denied`, naming the image and what its policy misses.
Result<void> check_image(const Policy& policy, const Reference& image, const std::string& digest,
                         const Evidence& evidence);

}  // namespace muster::image
