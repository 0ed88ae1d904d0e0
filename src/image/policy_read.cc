#include "image/policy_read.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/base64.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/files/given_path.h"
#include "base/json.h"
#include "base/text.h"

namespace muster::image {
namespace {

constexpr std::size_t quoted_max = 100;

/// Skopeo's words, also those of places that nothing here comes from: one file serves several.
constexpr std::array<std::string_view, 11> transports = {
    "atomic", "containers-storage", "dir",    "docker", "docker-archive", "docker-daemon",
    "oci",    "oci-archive",        "ostree", "sif",    "tarball"};

std::string quoted(std::string text) {
  if (text.size() > quoted_max) text.resize(quoted_max);
  return muster::to_text(Json(std::move(text)));
}

Result<void> check_members(const Json& json, const std::string& where,
                           const std::vector<std::string>& known) {
  if (!json.is_object()) return expected(where, "an object");
  for (const auto& [name, value] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Errc::invalid_input, where + ": unsupported key " + quoted(name) +
                                           "; supported keys are " + join(known, ", "));
  return {};
}

Result<std::string> text_at(const Json& json, const char* name, const std::string& where) {
  const auto member = json.find(name);
  if (member == json.end() || !member->is_string() || member->get<std::string>().empty())
    return expected(where, std::string(name) + " to be a string");
  return member->get<std::string>();
}

/// A member that occurs twice, in any object.
std::optional<std::string> named_twice(std::string_view text) {
  std::vector<std::set<std::string>> open;
  std::optional<std::string> twice;
  const Json::parser_callback_t look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  [[maybe_unused]] const Json passed = Json::parse(text, look, false);
  return twice;
}

using Rule = SignedIdentity::Rule;
struct RuleName {
  const char* name;
  Rule rule;
};
constexpr std::array<RuleName, 6> rules = {{{"matchRepoDigestOrExact", Rule::repo_digest_or_exact},
                                            {"matchExact", Rule::exact},
                                            {"matchRepository", Rule::repository},
                                            {"exactReference", Rule::exact_reference},
                                            {"exactRepository", Rule::exact_repository},
                                            {"remapIdentity", Rule::remap}}};

/// A host, or a folder of repositories, in its whole form.
Result<std::string> prefix_at(const Json& json, const char* name, const std::string& where) {
  std::string prefix = TRY(text_at(json, name, where));
  const Result<Reference> below = reference_from(prefix + "/a");
  if (!below || below->registry + "/" + below->repository != prefix + "/a")
    return expected(where, std::string(name) + " to be a registry or a path in a registry");
  return with_plain_registry(prefix);
}

/// A name in its whole form, with a tag or digest or without.
Result<std::string> name_at(const Json& json, const char* name, bool whole,
                            const std::string& where) {
  std::string text = TRY(text_at(json, name, where));
  const Result<Reference> reference = reference_from(text);
  const bool plain = reference && reference->transport == Reference::Transport::registry;
  const std::string repository =
      plain ? reference->registry + "/" + reference->repository : std::string();
  if (!plain || (whole ? to_text(*reference) : repository) != text)
    return expected(where, std::string(name) + " to be a name like " +
                               (whole ? "registry.lab/team/box:v1" : "registry.lab/team/box"));
  return text;
}

Result<SignedIdentity> identity_from(const Json& json, const std::string& where) {
  if (!json.is_object()) return expected(where, "an object");
  const std::string type = TRY(text_at(json, "type", where));
  const auto* const found = std::find_if(rules.begin(), rules.end(),
                                         [&](const RuleName& each) { return type == each.name; });
  if (found == rules.end()) {
    std::vector<std::string> names;
    for (const RuleName& each : rules) names.emplace_back(each.name);
    return expected(where, "type to be one of " + join(names, ", ") + ", got " + quoted(type));
  }
  SignedIdentity identity{.rule = found->rule};
  switch (identity.rule) {
    case Rule::exact_reference:
      TRY(check_members(json, where, {"type", "dockerReference"}));
      identity.name = TRY(name_at(json, "dockerReference", true, where));
      break;
    case Rule::exact_repository:
      TRY(check_members(json, where, {"type", "dockerRepository"}));
      identity.name = TRY(name_at(json, "dockerRepository", false, where));
      break;
    case Rule::remap:
      TRY(check_members(json, where, {"type", "prefix", "signedPrefix"}));
      identity.name = TRY(prefix_at(json, "prefix", where));
      identity.signed_prefix = TRY(prefix_at(json, "signedPrefix", where));
      break;
    default:
      TRY(check_members(json, where, {"type"}));
  }
  return identity;
}

Result<Requirement> sigstore_from(const Json& json, const std::string& where,
                                  const ReadKey& read_key) {
  TRY(check_members(json, where, {"type", "keyPath", "keyData", "signedIdentity"}));
  Requirement made{.type = Requirement::Type::sigstore};
  if (json.contains("keyPath") == json.contains("keyData"))
    return expected(where, "either keyPath or keyData");
  std::string pem;
  if (json.contains("keyPath")) {
    made.key_file = TRY(text_at(json, "keyPath", where));
    if (!made.key_file.starts_with('/')) return expected(where, "keyPath to be an absolute path");
    pem = TRY(read_key(made.key_file));
  } else {
    made.key_file = "keyData";
    const std::string packed = TRY(text_at(json, "keyData", where));
    std::optional<std::string> plain = from_base64(packed);
    if (!plain) return expected(where, "keyData to be base64-encoded");
    pem = *std::move(plain);
  }
  Result<PublicKey> key = PublicKey::from_pem(pem);
  if (!key) return key.error().in(where + ": " + quoted(made.key_file));
  made.key = *std::move(key);
  const auto identity = json.find("signedIdentity");
  if (identity != json.end())
    made.identity = TRY(identity_from(*identity, where + ".signedIdentity"));
  return made;
}

Result<Requirement> requirement_from(const Json& json, const std::string& where,
                                     const ReadKey& read_key) {
  if (!json.is_object()) return expected(where, "an object");
  const std::string type = TRY(text_at(json, "type", where));
  if (type == "sigstoreSigned") return sigstore_from(json, where, read_key);
  if (type != "insecureAcceptAnything" && type != "reject")
    return expected(where, "type to be insecureAcceptAnything, reject or sigstoreSigned, got " +
                               quoted(type) + "; muster does not support other types");
  TRY(check_members(json, where, {"type"}));
  Requirement made;
  if (type == "insecureAcceptAnything") made.type = Requirement::Type::accept;
  return made;
}

Result<std::vector<Requirement>> requirements_from(const Json& json, const std::string& where,
                                                   const ReadKey& read_key) {
  if (!json.is_array() || json.empty()) return expected(where, "a non-empty list of requirements");
  std::vector<Requirement> made;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string each = where + "[" + std::to_string(i) + "]";
    made.push_back(TRY(requirement_from(json[i], each, read_key)));
  }
  return made;
}

}  // namespace

Result<Policy> policy_from(std::string_view text, const ReadKey& read_key) {
  const Json json = TRY(parse_json(text));
  if (const std::optional<std::string> twice = named_twice(text))
    return fail(Errc::invalid_input, quoted(*twice) + " appears twice in one object");
  TRY(check_members(json, "the policy", {"default", "transports"}));
  if (!json.contains("default"))
    return fail(Errc::invalid_input, "the policy: expected a list of requirements in \"default\"");
  Policy policy;
  policy.otherwise = TRY(requirements_from(json["default"], "default", read_key));
  const auto given = json.find("transports");
  if (given == json.end()) return policy;
  TRY(check_members(*given, "transports", {transports.begin(), transports.end()}));
  for (const auto& [transport, scopes] : given->items()) {
    const std::string where = "transports." + transport;
    if (!scopes.is_object()) return expected(where, "an object whose keys are scopes");
    for (const auto& [scope, requirements] : scopes.items()) {
      std::vector<Requirement> made =
          TRY(requirements_from(requirements, where + "." + quoted(scope), read_key));
      const bool is_path = scope.starts_with('/');
      const std::string compared = is_path ? scope : with_plain_registry(scope);
      if (!policy.transports[transport].emplace(compared, std::move(made)).second)
        return expected(
            where, "each registry only once, but " + quoted(scope) + " appears in two spellings");
    }
  }
  return policy;
}

Result<Policy> read_policy(const std::string& file) {
  const std::string text = TRY(read_given(file, policy_bytes_max));
  Result<Policy> policy =
      policy_from(text, [](const std::string& path) { return read_given(path, key_bytes_max); });
  if (!policy) return policy.error().in(file);
  return policy;
}

}  // namespace muster::image
