#include "image/pull/docker_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "base/variables.h"

namespace muster::image {
namespace {

constexpr std::string_view docker_hub = "docker.io";
constexpr std::string_view docker_hub_key = "https://index.docker.io/v1/";
constexpr std::size_t helper_bytes_max = 64;
/// Source: docker/docker-credential-helpers, credentials/error.go.
constexpr std::string_view unknown_to_helper = "credentials not found in native keychain";

/// Keys of other clients' older versions are URLs: "https://quay.io/v2/" is quay.io.
std::string plain_key(std::string_view key) {
  bool is_url = false;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!key.starts_with(scheme)) continue;
    key.remove_prefix(scheme.size());
    is_url = true;
  }
  if (is_url) key = key.substr(0, key.find('/'));
  while (key.ends_with('/')) key.remove_suffix(1);
  if (key == "index.docker.io" || key == "registry-1.docker.io" || key == "index.docker.io/v1")
    return std::string(docker_hub);
  return std::string(key);
}

/// The member whose key means `name`; the first, if several do.
const Json* member_for(const Json& object, std::string_view name) {
  for (const auto& [key, value] : object.items())
    if (plain_key(key) == name) return &value;
  return nullptr;
}

/// "docker.io/team/box", "docker.io/team", "docker.io".
std::vector<std::string> names_of(const std::string& registry, const std::string& repository) {
  std::vector<std::string> names;
  for (std::string name = registry + "/" + repository; name != registry;
       name.resize(name.rfind('/')))
    names.push_back(name);
  names.push_back(registry);
  return names;
}

Result<std::optional<Login>> login_of(const Json& entry) {
  if (!entry.is_object()) return fail(Errc::invalid_input, "an entry in auths is not an object");
  Login login{member_text(entry, "username"), member_text(entry, "password"),
              member_text(entry, "identitytoken")};
  if (const std::string packed = member_text(entry, "auth"); !packed.empty()) {
    std::optional<std::string> pair = from_base64(packed);
    const std::size_t colon = pair ? pair->find(':') : std::string::npos;
    if (colon == std::string::npos)
      return fail(Errc::invalid_input,
                  "an entry in auths: auth is not base64-encoded USER:PASSWORD");
    login.user = pair->substr(0, colon);
    login.password = pair->substr(colon + 1);
    while (login.password.ends_with('\0')) login.password.pop_back();  // As Docker trims it.
  }
  if (login.user.empty() && login.identity_token.empty()) return std::optional<Login>();
  return std::optional<Login>(std::move(login));
}

/// A helper's name becomes part of a program's.
bool is_helper(const std::string& name) {
  return !name.empty() && name.size() <= helper_bytes_max && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), is_name_byte);
}

Result<std::string> helper_in(const Json& json, const std::vector<std::string>& names) {
  std::string helper = member_text(json, "credsStore");
  const auto helpers = json.find("credHelpers");
  if (helpers != json.end() && helpers->is_object())
    for (const std::string& name : names) {
      const Json* own = member_for(*helpers, name);
      if (own == nullptr || !own->is_string()) continue;
      helper = own->get<std::string>();
      break;
    }
  if (!helper.empty() && !is_helper(helper))
    return fail(Errc::invalid_input,
                "invalid helper name; for the helper docker-credential-NAME, expected NAME, with "
                "only letters, digits, '-', '_' and '.'");
  return helper;
}

}  // namespace

std::vector<std::string> login_files(const Env& env) {
  if (const std::string file = value_of(env, "REGISTRY_AUTH_FILE"); !file.empty()) return {file};
  if (const std::string folder = value_of(env, "DOCKER_CONFIG"); !folder.empty())
    return {folder + "/config.json"};
  std::vector<std::string> files;
  const std::string run = value_of(env, "XDG_RUNTIME_DIR");
  const std::string home = value_of(env, "HOME");
  if (!run.empty()) files.push_back(run + "/containers/auth.json");
  if (!home.empty()) files.push_back(home + "/.config/containers/auth.json");
  if (!home.empty()) files.push_back(home + "/.docker/config.json");
  return files;
}

Result<ConfiguredLogin> login_in(std::string_view config, const std::string& registry,
                                 const std::string& repository) {
  const Json json = TRY(parse_json(config));
  if (!json.is_object()) return fail(Errc::invalid_input, "not a JSON object");
  const std::vector<std::string> names = names_of(registry, repository);
  ConfiguredLogin found;
  found.helper = TRY(helper_in(json, names));
  const auto auths = json.find("auths");
  if (auths == json.end() || !auths->is_object()) return found;
  for (const std::string& name : names) {
    const Json* entry = member_for(*auths, name);
    if (entry == nullptr) continue;
    found.login = TRY(login_of(*entry));
    if (found.login) break;
  }
  return found;
}

std::string helper_name_of(const std::string& registry) {
  return registry == docker_hub ? std::string(docker_hub_key) : registry;
}

Result<std::optional<Login>> login_from_helper(std::string_view answer, bool succeeded) {
  if (!succeeded) {
    if (trim(answer) == unknown_to_helper) return std::optional<Login>();
    return fail(Errc::denied, "it failed");
  }
  const Result<Json> json = parse_json(answer);
  if (!json || !json->is_object()) return fail(Errc::protocol, "the response is not a JSON object");
  const std::string user = member_text(*json, "Username");
  const std::string secret = member_text(*json, "Secret");
  if (secret.empty()) return fail(Errc::protocol, "the response has no Secret");
  if (user == "<token>") return std::optional<Login>(Login{"", "", secret});
  return std::optional<Login>(Login{user, secret, ""});
}

}  // namespace muster::image
