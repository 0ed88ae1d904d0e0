#pragma once

#include <set>
#include <string>
#include <vector>

#include "aws/access/keyring.h"
#include "aws/api/realm.h"
#include "base/json.h"
#include "server/store/store.h"

namespace muster::server {

/// A new key with a random id and secret, a user's until its maker says otherwise.
store::AccessKey fresh_key(UnixMillis now);

/// What a client has to set.
struct ClientSettings {
  std::string endpoint;  ///< The server's URL; empty: not known, and left out.
  std::string region;
  std::string ca_bundle =
      {};  ///< A file in PEM whom to trust; empty: whom the client trusts anyway.
  std::string s3_endpoint = {};  ///< If S3 is elsewhere.
};
/// The lines that make a POSIX shell's clients use the server with this key. They hold its secret.
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

/// Users' keys of a running server: those of its config, which stay, and those of its store, which
/// come and go while it runs. Belongs to the store's thread.
class UserKeys {
 public:
  /// The most temporary keys of one key that are alive.
  static constexpr std::int64_t sessions_max = 1000;
  /// The most that make() makes.
  static constexpr std::size_t keys_max = 1000;

  /// Both outlive this.
  UserKeys(store::Store& store, access::KeyRing& ring) : store_(store), ring_(ring) {}

  /// Error: `invalid_input` (KeyRing::add).
  Result<void> add(const std::vector<store::AccessKey>& of_config);
  /// Makes the ring know the store's keys and no others of users'. Where the config has a key of
  /// the same id, that one counts. Error: `system` (the store).
  Result<void> reload();
  /// [{"id", "created" (milliseconds), "comment", "config"}]: no secrets. Error: `system`.
  Result<Json> list();
  /// A new key, known at once; `maker` is the id of the key by which it is made, empty: none.
  /// Errors: `invalid_input` (check_comment(); there are keys_max), `system`.
  Result<store::AccessKey> make(const std::string& comment, UnixMillis now,
                                const std::string& maker = {});
  /// A temporary key with the rights of `maker`, a user's permanent key. None: it already has
  /// sessions_max. Errors: `not_found`: the key does not exist; `system`.
  Result<std::optional<access::AccessKey>> lend(const std::string& maker, const std::string& name,
                                                UnixMillis now, UnixMillis expires);
  /// When a key ends; none: it lasts, or is unknown.
  std::optional<UnixMillis> end_of(const std::string& id) const;
  /// Unknown at once, and its temporary keys with it. Errors: `not_found`; `invalid_input` for a
  /// key of the config and for the last one, `system`.
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
