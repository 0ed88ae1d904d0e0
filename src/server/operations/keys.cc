#include "server/operations/keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/digest.h"
#include "base/fd.h"
#include "base/files/private_file.h"
#include "base/text.h"

namespace muster::server {
namespace {

constexpr std::size_t comment_bytes_max = 256;

/// `count` characters of `alphabet`.
std::string random_word(std::size_t count, std::string_view alphabet) {
  std::string word;
  while (word.size() < count) {
    for (const char c : random_bytes(count)) {
      const std::size_t number = static_cast<unsigned char>(c);
      const std::size_t fair = 256 / alphabet.size() * alphabet.size();
      if (number < fair && word.size() < count) word.push_back(alphabet[number % alphabet.size()]);
    }
  }
  return word;
}

access::AccessKey known_from(const store::AccessKey& key) {
  access::AccessKey known;
  known.id = key.id;
  known.secret = key.secret;
  known.session_token = key.token;
  return known;
}

constexpr std::string_view letters_and_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
constexpr std::string_view id_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::size_t id_letters_count = 16;
constexpr std::size_t secret_letters = 40;
constexpr std::size_t token_letters = 100;

/// The secret comes of the maker's: it is nowhere else, and another secret of the maker ends it.
access::AccessKey temporary(const store::Session& session, const access::AccessKey& maker) {
  access::AccessKey key;
  key.id = session.id;
  const aws::Sha256Bytes own = aws::hmac_sha256(maker.secret, "muster temporary key");
  key.secret =
      hex(aws::view_of(aws::hmac_sha256(aws::view_of(own), session.id))).substr(0, secret_letters);
  key.session_token = session.token;
  key.expires = session.expires;
  key.policy = maker.policy;
  key.owner = maker.owner;
  key.maker = maker.id;
  key.session = session.name;
  return key;
}

}  // namespace

store::AccessKey fresh_key(UnixMillis now) {
  store::AccessKey key;
  key.id = "AKIA" + random_word(id_letters_count, id_letters);
  key.secret = random_word(secret_letters, letters_and_digits);
  key.created = now;
  return key;
}

std::string export_lines(const store::AccessKey& key, const ClientSettings& settings) {
  std::string lines;
  if (!settings.endpoint.empty()) lines += "export AWS_ENDPOINT_URL=" + settings.endpoint + "\n";
  if (!settings.s3_endpoint.empty())
    lines += "export AWS_ENDPOINT_URL_S3=" + settings.s3_endpoint + "\n";
  if (!settings.ca_bundle.empty())
    lines += "export AWS_CA_BUNDLE=" + shell_quoted({settings.ca_bundle}) + "\n";
  return lines + "export AWS_ACCESS_KEY_ID=" + key.id +
         "\nexport AWS_SECRET_ACCESS_KEY=" + key.secret +
         "\nexport AWS_DEFAULT_REGION=" + settings.region + "\n";
}

Result<std::vector<store::AccessKey>> read_keys(const std::vector<ConfigKey>& keys) {
  std::vector<store::AccessKey> read;
  access::KeyRing probe;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string where = "keys[" + std::to_string(i) + "]";
    if (probe.find(keys[i].id))
      return fail(Errc::invalid_input, where + ".id: " + keys[i].id + " appears twice");
    Result<std::string> secret = read_private(keys[i].secret_file);
    if (!secret) return secret.error().in(where + ".secret_file");
    store::AccessKey key;
    key.id = keys[i].id;
    key.secret = *std::move(secret);
    const Result<void> fits = probe.add(known_from(key));
    if (!fits) return fits.error().in(where);
    read.push_back(std::move(key));
  }
  return read;
}

Result<void> check_comment(const std::string& comment, const std::string& name) {
  const bool plain = is_utf8(comment) && std::none_of(comment.begin(), comment.end(), [](char c) {
                       return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
                     });
  if (plain && comment.size() <= comment_bytes_max) return {};
  return fail(Errc::invalid_input,
              name + ": expected one line of UTF-8 text with at most 256 bytes");
}

Result<void> UserKeys::add(const std::vector<store::AccessKey>& of_config) {
  for (const store::AccessKey& key : of_config) {
    TRY(ring_.add(known_from(key)));
    of_config_.insert(key.id);
  }
  return {};
}

Result<void> UserKeys::reload() {
  std::set<std::string> now;
  for (const store::AccessKey& key : TRY(store_.keys())) {
    if (of_config_.contains(key.id)) continue;
    now.insert(key.id);
    if (!of_store_.contains(key.id)) TRY(ring_.add(known_from(key)));
  }
  for (const std::string& id : of_store_)
    if (!now.contains(id)) ring_.revoke(id);
  of_store_ = std::move(now);
  return reload_sessions();
}

std::shared_ptr<const access::AccessKey> UserKeys::lasting(const std::string& id) const {
  return of_config_.contains(id) || of_store_.contains(id) ? ring_.find(id) : nullptr;
}

Result<void> UserKeys::reload_sessions() {
  std::set<std::string> now;
  for (const store::Session& session : TRY(store_.sessions())) {
    const std::shared_ptr<const access::AccessKey> maker = lasting(session.maker);
    if (!maker) continue;  // The config's once: it expires.
    now.insert(session.id);
    if (!sessions_.contains(session.id)) TRY(ring_.add(temporary(session, *maker)));
  }
  for (const std::string& id : sessions_)
    if (!now.contains(id)) ring_.revoke(id);
  sessions_ = std::move(now);
  return {};
}

Result<std::optional<access::AccessKey>> UserKeys::lend(const std::string& maker,
                                                        const std::string& name, UnixMillis now,
                                                        UnixMillis expires) {
  const std::shared_ptr<const access::AccessKey> known = lasting(maker);
  if (!known) return fail(Errc::not_found, "key not found");
  const store::Session session{.id = "ASIA" + random_word(id_letters_count, id_letters),
                               .token = random_word(token_letters, letters_and_digits),
                               .maker = maker,
                               .name = name,
                               .expires = expires};
  std::vector<std::string> expired;
  const bool added = TRY(store_.add_session(session, now, sessions_max, expired));
  for (const std::string& id : expired)
    if (sessions_.erase(id) > 0) ring_.revoke(id);
  if (!added) return std::optional<access::AccessKey>();
  access::AccessKey key = temporary(session, *known);
  TRY(ring_.add(key));
  sessions_.insert(key.id);
  return std::optional<access::AccessKey>(std::move(key));
}

std::optional<UnixMillis> UserKeys::end_of(const std::string& id) const {
  const std::shared_ptr<const access::AccessKey> key = ring_.find(id);
  return key ? key->expires : std::nullopt;
}

Result<Json> UserKeys::list() {
  Json list = Json::array();
  for (const store::AccessKey& key : TRY(store_.keys()))
    if (!of_config_.contains(key.id))
      list.push_back({{"id", key.id},
                      {"created", key.created.count()},
                      {"comment", key.comment},
                      {"config", false}});
  for (const std::string& id : of_config_)
    list.push_back({{"id", id}, {"created", nullptr}, {"comment", ""}, {"config", true}});
  return list;
}

Result<store::AccessKey> UserKeys::make(const std::string& comment, UnixMillis now,
                                        const std::string& maker) {
  TRY(check_comment(comment, "comment"));
  const std::vector<store::AccessKey> present = TRY(store_.keys());
  if (present.size() >= keys_max)
    return fail(Errc::invalid_input, "the server already has " + std::to_string(keys_max) +
                                         " keys; delete an unused key");
  store::AccessKey key = fresh_key(now);
  key.comment = comment;
  if (!maker.empty()) {
    const std::optional<store::AccessKey> known = TRY(store_.key(maker));
    if (known) key.makers = known->makers;
    key.makers.push_back(maker);
  }
  TRY(store_.add_key(key));
  TRY(reload());
  return key;
}

Result<void> UserKeys::remove(const std::string& id) {
  if (of_config_.contains(id))
    return fail(Errc::invalid_input,
                id + " is in the server's config; remove the key from the config");
  const store::KeyRemoval removal = TRY(store_.remove_key(id, !of_config_.empty()));
  if (removal == store::KeyRemoval::unknown) return fail(Errc::not_found, "key not found");
  if (removal == store::KeyRemoval::last)
    return fail(Errc::invalid_input,
                id + " is the last key: the server cannot be used without a key");
  return reload();
}

}  // namespace muster::server
