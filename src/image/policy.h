#pragma once

#include <functional>
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
/// Pure but for read_policy().
/// Source: containers-policy.json(5), containers/image 5.23.

constexpr std::size_t policy_bytes_max = 1u << 20;

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

struct Policy {
  /// By scope; the empty one is the transport's own.
  using Scopes = std::map<std::string, std::vector<Requirement>>;
  std::vector<Requirement> otherwise;          ///< "default"
  std::map<std::string, Scopes> transports{};  ///< By skopeo's word: "docker", "oci".
};

/// Every key it names comes by `read_key`, by path. Errors: `invalid_input`, saying where and what
/// was expected (a kind of requirement or a member that is not known, a member twice); read_key's.
using ReadKey = std::function<Result<std::string>(const std::string& path)>;
Result<Policy> policy_from(std::string_view text, const ReadKey& read_key);
/// policy_from() of a file; every error names it.
Result<Policy> read_policy(const std::string& file);

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
