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

/// A browser that was let in.
struct Visit {
  std::string id;   ///< For people and to end it by; opens nothing.
  std::string key;  ///< The access key that it represents.
  UnixMillis since{0};
  UnixMillis until{0};
  std::string browser;  ///< What it says of itself; not believed, cut.
};

/// Who may look at the web page: passes, which let one browser in once, and visits, which they
/// become. Both are known by the hash of their secret alone, and are gone with the process.
///
/// Any number of threads; times come in.
class Visits {
 public:
  static constexpr UnixMillis pass_lasts{60'000};
  static constexpr UnixMillis visit_lasts{12 * 3'600'000};
  static constexpr std::size_t passes_of_key_max = 20;  ///< The oldest goes.
  static constexpr std::size_t visits_of_key_max = 20;  ///< The oldest goes.

  /// The secret of a fresh pass.
  std::string issue_pass(const std::string& key, UnixMillis now);
  /// Returns the key for the pass, once; none if the pass was used, is too old, or never existed.
  std::optional<std::string> use_pass(std::string_view secret, UnixMillis now);

  /// The secret of a fresh visit: a cookie's value.
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
