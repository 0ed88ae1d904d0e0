#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aws/refusal.h"
#include "base/result.h"

namespace muster::bucket {

class Hold;

/// Keys of a bucket: one, or all with a prefix.
struct KeySpan {
  std::string key;
  bool is_folder = false;

  bool holds(std::string_view name) const {
    return is_folder ? name.starts_with(key) : name == key;
  }
};

struct Amount {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// The quota of some places in buckets, and its use: objects, open uploads, their parts, and
/// running writes (Hold). A replaced object counts once. Any number of threads.
class Budget {
 public:
  /// 0: no limit.
  explicit Budget(Amount most) : most_(most) {}

  /// A file was added (`before`: none), removed (`after`: none) or replaced. It used the
  /// reservation `by`.
  void changed(const std::string& name, std::optional<std::uint64_t> before,
               std::optional<std::uint64_t> after, Hold* by = nullptr);
  /// The current use, without running writes.
  Amount used() const;

 private:
  friend class Hold;
  Amount share_of(const Hold& hold) const;
  Result<void, aws::Refusal> fits(const Amount& more) const;

  const Amount most_;
  mutable std::mutex mutex_;
  Amount used_;
  Amount held_;
  /// The first of several writes to one name counts as a replacement, the others as additions.
  std::map<std::string, Hold*, std::less<>> first_;
};

/// A reservation in a Budget for one file that is being written; released on destruction. Without a
/// Budget there is always space.
class Hold {
 public:
  Hold() = default;
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { end(); }

  /// `present`: the size of the object with that name. The caller ensures that changed() is not
  /// called for the name meanwhile.
  void begin(std::shared_ptr<Budget> budget, std::string name,
             std::optional<std::uint64_t> present);
  /// Reserves this many more bytes, and the file. Refusal: QuotaExceeded, with figures.
  Result<void, aws::Refusal> grow(std::uint64_t bytes);

 private:
  friend class Budget;
  void end();

  std::shared_ptr<Budget> budget_;
  std::string name_;
  std::uint64_t bytes_ = 0;
  bool is_counted_ = false;               ///< Counted as a file.
  std::optional<std::uint64_t> present_;  ///< The size of the replaced object.
};

/// The budgets that count the entries of a table of one bucket. The table's lock is held for each
/// call.
class Budgets {
 public:
  void add(const std::shared_ptr<Budget>& budget, std::vector<KeySpan> spans);
  /// Calls Budget::changed() of the budgets whose places contain `key`.
  void changed(std::string_view key, const std::string& name, std::optional<std::uint64_t> before,
               std::optional<std::uint64_t> after, Hold* by = nullptr) const;

 private:
  struct Counting {
    std::weak_ptr<Budget> budget;
    std::vector<KeySpan> spans;
  };
  std::vector<Counting> all_;
};

/// Without spans that are inside another one.
std::vector<KeySpan> apart(std::vector<KeySpan> spans);

/// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace muster::bucket
