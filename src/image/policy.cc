#include "image/policy.h"

#include <algorithm>

#include "base/text.h"
#include "os/packing/archive_member.h"

namespace muster::image {
namespace {

using Transport = Reference::Transport;

std::string repository_of(const Reference& image) {
  return image.registry + "/" + image.repository;
}

Reference with_plain_registry(Reference image) {
  image.registry = image::with_plain_registry(image.registry);
  return image;
}

/// "reg.lab/team/box", "reg.lab/team", "reg.lab", and so on up to `first`'s first part.
void add_parents(std::string name, std::vector<std::string>& scopes) {
  for (std::size_t slash = name.size(); slash != std::string::npos && slash != 0;
       slash = name.rfind('/')) {
    name.resize(slash);
    scopes.push_back(name);
  }
}

/// Without the port, as containers/image has it: "*.lab" fits reg.lab:5000.
void add_wildcards(std::string host, std::vector<std::string>& scopes) {
  host.resize(std::min(host.find(':'), host.size()));
  for (std::size_t dot = host.find('.'); dot != std::string::npos; dot = host.find('.')) {
    host.erase(0, dot + 1);
    scopes.push_back("*." + host);
  }
}

/// The word of the policy file for where the image comes from.
std::string word_of(Transport transport) {
  switch (transport) {
    case Transport::docker_archive:
      return "docker-archive";
    case Transport::oci:
      return "oci";
    case Transport::docker_daemon:
      return "docker-daemon";
    case Transport::containers_storage:
      return "containers-storage";
    case Transport::registry:
      break;
  }
  return "docker";
}

/// The scopes that an image is in, the most exact first.
std::vector<std::string> scopes_of(const Reference& image) {
  std::vector<std::string> scopes;
  if (image.transport == Transport::oci) {
    if (!image.tag.empty()) scopes.push_back(image.path + ":" + image.tag);
    add_parents(image.path, scopes);
  } else if (image.transport != Transport::docker_archive) {
    Reference named = image;
    named.transport = Transport::registry;
    scopes.push_back(to_text(named));
    add_parents(repository_of(image), scopes);
    add_wildcards(image.registry, scopes);
  }
  scopes.emplace_back();
  return scopes;
}

/// A name in a signature or a policy; where it has neither tag nor digest both are empty.
std::optional<Reference> name_from(const std::string& text) {
  if (text.starts_with("docker://")) return std::nullopt;
  Result<Reference> reference = reference_from(text);
  if (!reference || reference->transport != Transport::registry) return std::nullopt;
  const std::string last = text.substr(text.rfind('/') + 1);
  if (last.find_first_of(":@") == std::string::npos) reference->tag.clear();
  return with_plain_registry(*std::move(reference));
}

bool same_repository(const Reference& a, const Reference& b) {
  return a.registry == b.registry && a.repository == b.repository;
}

bool same_exactly(const Reference& a, const Reference& b) {
  return (!a.tag.empty() || !a.digest.empty()) && a == b;
}

bool fits(const Reference& image, const Reference& claimed) {
  return image.digest.empty() ? same_exactly(image, claimed) : same_repository(image, claimed);
}

/// The image's name as it was when it was signed.
std::optional<Reference> remapped(const Reference& image, const SignedIdentity& identity) {
  const std::string repository = repository_of(image);
  if (repository != identity.name && !repository.starts_with(identity.name + "/")) return image;
  return name_from(identity.signed_prefix + to_text(image).substr(identity.name.size()));
}

bool matches(const SignedIdentity& identity, const Reference& image, const Reference& claimed) {
  switch (identity.rule) {
    case SignedIdentity::Rule::repo_digest_or_exact:
      return fits(image, claimed);
    case SignedIdentity::Rule::exact:
      return same_exactly(image, claimed);
    case SignedIdentity::Rule::repository:
      return same_repository(image, claimed);
    case SignedIdentity::Rule::exact_reference:
    case SignedIdentity::Rule::exact_repository: {
      const std::optional<Reference> wanted = name_from(identity.name);
      if (!wanted) return false;
      return identity.rule == SignedIdentity::Rule::exact_reference
                 ? same_exactly(*wanted, claimed)
                 : same_repository(*wanted, claimed);
    }
    case SignedIdentity::Rule::remap: {
      const std::optional<Reference> was = remapped(image, identity);
      return was && fits(*was, claimed);
    }
  }
  return false;
}

/// Why no signature is accepted; of several, the reason of the one that got furthest.
struct Lack {
  int reached = 0;
  std::string why;
};

std::optional<Lack> lack_of(const Signature& signature, const Requirement& wanted,
                            const Reference& image, const std::vector<std::string>& digests) {
  if (!wanted.key->verifies(signature))
    return Lack{1, "its signature was not made with the key " + wanted.key_file};
  const Result<SignedClaim> claim = claim_from(signature.payload);
  if (!claim) return Lack{2, claim.error().text};
  if (std::find(digests.begin(), digests.end(), claim->digest) == digests.end())
    return Lack{3, "its signature belongs to another image, " + claim->digest};
  const std::optional<Reference> claimed = name_from(claim->reference);
  if (!claimed || !matches(wanted.identity, image, *claimed))
    return Lack{4, "its signature is for the name " + packing::shown(claim->reference) +
                       ", which signedIdentity of its key does not accept"};
  return std::nullopt;
}

std::optional<std::string> lack_of_all(const Requirement& wanted, const Reference& image,
                                       const std::vector<std::string>& digests,
                                       const Evidence& evidence) {
  if (image.transport != Transport::registry) return "signatures are checked only in registries";
  Lack furthest{0, "it is not signed; sign it in its registry with cosign sign --key"};
  for (const Signature& signature : evidence.signatures) {
    const std::optional<Lack> lack = lack_of(signature, wanted, image, digests);
    if (!lack) return std::nullopt;
    if (lack->reached > furthest.reached) furthest = *lack;
  }
  return furthest.why;
}

Error refused(const Reference& image, const Ruling& ruling, const std::string& why) {
  return fail(Errc::denied,
              to_text(image) + ": refused by the image policy (" + ruling.origin + "): " + why);
}

}  // namespace

std::string with_plain_registry(std::string_view name) {
  const std::size_t slash = std::min(name.find('/'), name.size());
  std::string registry = lower_case(name.substr(0, slash));
  const std::size_t end = std::min(registry.rfind(':'), registry.size());
  if (end > 0 && registry[end - 1] == '.') registry.erase(end - 1, 1);
  return registry + std::string(name.substr(slash));
}

Ruling ruling_for(const Policy& policy, const Reference& image) {
  const std::string word = word_of(image.transport);
  const auto transport = policy.transports.find(word);
  if (transport != policy.transports.end())
    for (const std::string& scope : scopes_of(with_plain_registry(image))) {
      const auto found = transport->second.find(scope);
      if (found != transport->second.end())
        return {found->second, word + (scope.empty() ? "" : " " + scope)};
    }
  return {policy.otherwise, "default"};
}

Result<bool> needs_signatures(const Policy& policy, const Reference& image) {
  const Ruling ruling = ruling_for(policy, image);
  bool needs = false;
  for (const Requirement& each : ruling.requirements) {
    if (each.type == Requirement::Type::reject)
      return refused(image, ruling, "it rejects every such image");
    needs |= each.type == Requirement::Type::sigstore;
  }
  return needs;
}

Result<void> check_image(const Policy& policy, const Reference& image, const std::string& digest,
                         const Evidence& evidence) {
  const bool needs = TRY(needs_signatures(policy, image));
  if (!needs) return {};
  const Ruling ruling = ruling_for(policy, image);
  const std::vector<std::string> digests = digests_of(digest, evidence);
  for (const Requirement& each : ruling.requirements) {
    if (each.type != Requirement::Type::sigstore) continue;
    const std::optional<std::string> lack =
        lack_of_all(each, with_plain_registry(image), digests, evidence);
    if (lack) return refused(image, ruling, *lack);
  }
  return {};
}

}  // namespace muster::image
