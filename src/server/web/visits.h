#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::web {

/// A browser that is logged in.
struct Visit {
  std::string id;   ///< Identifies the visit to users; grants no access.
  std::string key;  ///< The access key that it represents.
  UnixMillis since{0};
  UnixMillis until{0};
  std::string browser;  ///< The User-Agent header, shortened; not trusted.
};

/// Logins of the web page. A pass logs one browser in, once; the login is then a visit. Passes and
/// visits are identified by the hash of their secret, and are lost when the process exits.
///
/// Thread-safe. The caller passes the current time.
class Visits {
 public:
  static constexpr UnixMillis pass_lasts{60'000};
  static constexpr UnixMillis visit_lasts{12 * 3'600'000};
  static constexpr std::size_t passes_of_key_max = 20;  ///< The oldest goes.
  static constexpr std::size_t visits_of_key_max = 20;  ///< The oldest goes.

  /// Creates a pass and returns its secret.
  std::string issue_pass(const std::string& key, UnixMillis now);
  /// Returns the key for the pass, once; none if the pass was used, is too old, or never existed.
  std::optional<std::string> use_pass(std::string_view secret, UnixMillis now);

  /// Creates a visit and returns its secret, the value of the cookie.
  std::string begin(const std::string& key, std::string_view browser, UnixMillis now);
  /// None if it does not exist, or has expired.
  std::optional<Visit> find(std::string_view secret, UnixMillis now);
  /// By age.
  std::vector<Visit> of_key(std::string_view key, UnixMillis now);
  /// False if `key` has no such visit.
  bool end(std::string_view id, std::string_view key);

 private:
  struct Pass {
    std::string key;
    UnixMillis until{0};
  };
  void forget_old(UnixMillis now);

  std::mutex mutex_;
  std::map<std::string, Pass> passes_;   ///< By the secret's hash.
  std::map<std::string, Visit> visits_;  ///< By the secret's hash.
};

}  // namespace muster::web
