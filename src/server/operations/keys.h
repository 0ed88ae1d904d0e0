#pragma once

#include <set>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/api/realm.h"
#include "base/json.h"
#include "server/store/store.h"

namespace muster::server {

/// A new key with a random id and secret, by default a user's key.
store::AccessKey fresh_key(UnixMillis now);

/// The settings of a client.
struct ClientSettings {
  std::string endpoint;  ///< The server's URL; empty: unknown, omitted.
  std::string region;
  std::string ca_bundle = {};    ///< A PEM file with CA certificates; empty: the client's default.
  std::string s3_endpoint = {};  ///< Set if S3 is another server.
};
/// Lines for a POSIX shell that make clients use the server with this key. They contain its secret.
/// Pure.
std::string export_lines(const store::AccessKey& key, const ClientSettings& settings);

/// A key in the config: its secret is in a separate private file.
struct ConfigKey {
  std::string id;
  std::string secret_file;

  bool operator==(const ConfigKey&) const = default;
};
/// Reads their secrets. Error: `invalid_input`, naming the key; those of read_private().
Result<std::vector<store::AccessKey>> read_keys(const std::vector<ConfigKey>& keys);

/// A comment is one line of at most 256 bytes of UTF-8. Error: `invalid_input`, beginning with
/// `name`.
Result<void> check_comment(const std::string& comment, const std::string& name);

/// Users' keys of a running server: the fixed ones of its config, and those of its store, which can
/// change while it runs. Belongs to the store's thread.
class UserKeys {
 public:
  /// The maximum number of valid temporary keys per key.
  static constexpr std::int64_t sessions_max = 1000;
  /// The maximum number of keys that make() creates.
  static constexpr std::size_t keys_max = 1000;

  /// Both outlive this.
  UserKeys(store::Store& store, access::KeyRing& ring) : store_(store), ring_(ring) {}

  /// Error: `invalid_input` (KeyRing::add).
  Result<void> add(const std::vector<store::AccessKey>& of_config);
  /// Sets the ring's user keys to those of the store. If the config has a key with the same id, the
  /// config's counts. Error: `system` (the store).
  Result<void> reload();
  /// [{"id", "created" (milliseconds), "comment", "config"}]: no secrets. Error: `system`.
  Result<Json> list();
  /// A new key, accepted at once; `maker` is the id of the key that created it, or empty. Errors:
  /// `invalid_input` (check_comment(); keys_max keys exist), `system`.
  Result<store::AccessKey> make(const std::string& comment, UnixMillis now,
                                const std::string& maker = {});
  /// A temporary key with the rights of `maker`, a user's permanent key. None: it already has
  /// sessions_max. Errors: `not_found`: the key does not exist; `system`.
  Result<std::optional<access::AccessKey>> lend(const std::string& maker, const std::string& name,
                                                UnixMillis now, UnixMillis expires);
  /// When a key expires; none if it does not expire or is unknown.
  std::optional<UnixMillis> end_of(const std::string& id) const;
  /// Revokes a key and its temporary keys at once. Errors: `not_found`; `invalid_input` for a key
  /// of the config and for the last one, `system`.
  Result<void> remove(const std::string& id);
  bool empty() const { return of_config_.empty() && of_store_.empty(); }

 private:
  std::shared_ptr<const access::AccessKey> lasting(const std::string& id) const;
  Result<void> reload_sessions();

  store::Store& store_;
  access::KeyRing& ring_;
  std::set<std::string> of_config_;
  std::set<std::string> of_store_;
  std::set<std::string> sessions_;
};

}  // namespace muster::server
