#include "server/registry/login.h"

#include <algorithm>

#include "aws/digest.h"
#include "base/base64.h"
#include "base/text.h"

namespace muster::registry {
namespace {

using Key = std::shared_ptr<const access::AccessKey>;

constexpr std::string_view purpose = "muster registry token";
constexpr std::size_t header_bytes_max = 8192;

Error denied(const std::string& why) {
  return fail(Errc::denied, why);
}

std::string mac_of(const access::AccessKey& key, std::string_view claim) {
  const aws::Sha256Bytes own = aws::hmac_sha256(key.secret, purpose);
  const std::string all = std::string(claim) + "." + key.session_token;
  const aws::Sha256Bytes mac = aws::hmac_sha256(aws::view_of(own), all);
  return hex(aws::view_of(mac));
}

std::string claim_of(const access::AccessKey& key, UnixMillis expires) {
  return key.id + "." + std::to_string(expires.count());
}

Result<Key> by_token(std::string_view token, const access::KeyRing& keys, UnixMillis now) {
  const Error wrong = denied(
      "the token was not issued by this server, or the access key of the token was deleted: get a "
      "new token with aws ecr get-login-password");
  const std::vector<std::string> parts = split(token, '.');
  if (parts.size() != 3) return wrong;
  const std::optional<std::int64_t> expires = parse_integer(parts[1]);
  Key key = keys.find(parts[0]);
  if (!key || !expires) return wrong;
  if (!aws::same_bytes(mac_of(*key, claim_of(*key, UnixMillis(*expires))), parts[2])) return wrong;
  if (now >= UnixMillis(*expires))
    return denied("the token has expired: get a new token with aws ecr get-login-password");
  return key;
}

Result<Key> by_secret(const std::string& id, std::string_view secret, const access::KeyRing& keys) {
  Key key = keys.find(id);
  if (!key || !aws::same_bytes(key->secret, secret))
    return denied("unknown access key or wrong secret");
  if (!key->session_token.empty())
    return denied("to log in with a key that has a session token, use aws ecr get-login-password");
  return key;
}

}  // namespace

std::string token_for(const access::AccessKey& key, UnixMillis expires) {
  const std::string claim = claim_of(key, expires);
  return claim + "." + mac_of(key, claim);
}

UnixMillis token_end(const access::AccessKey& key, UnixMillis now) {
  const UnixMillis end = now + std::chrono::duration_cast<UnixMillis>(token_life);
  return key.expires ? std::min(end, *key.expires) : end;
}

Result<Key> logged_in(std::optional<std::string_view> authorization, const access::KeyRing& keys,
                      UnixMillis now) {
  constexpr std::string_view scheme = "Basic ";
  if (!authorization) return denied("log in with the ID and the secret of an access key");
  if (authorization->size() > header_bytes_max || authorization->size() < scheme.size() ||
      !same_letters(authorization->substr(0, scheme.size()), scheme))
    return denied("expected a login with HTTP Basic authentication");
  const std::optional<std::string> login = from_base64(trim(authorization->substr(scheme.size())));
  const std::size_t colon = login ? login->find(':') : std::string::npos;
  if (colon == std::string::npos) return denied("expected a login with HTTP Basic authentication");
  const std::string user = login->substr(0, colon);
  const std::string_view password = std::string_view(*login).substr(colon + 1);
  Result<Key> key = user == "AWS" ? by_token(password, keys, now) : by_secret(user, password, keys);
  if (key && (*key)->expires && now >= *(*key)->expires)
    return denied("the access key has expired");
  return key;
}

}  // namespace muster::registry
