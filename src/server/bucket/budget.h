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

/// Keys of a bucket: one, or all that begin so.
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

/// How much may lie in some places of buckets, and how much does: objects, open uploads, their
/// parts, and writes on their way (Hold). What a write replaces counts once. Any number of threads.
class Budget {
 public:
  /// 0: no limit.
  explicit Budget(Amount most) : most_(most) {}

  /// A file of that name came (`before`: none), went (`after`: none) or was replaced. The room that
  /// `by` holds is what it took.
  void changed(const std::string& name, std::optional<std::uint64_t> before,
               std::optional<std::uint64_t> after, Hold* by = nullptr);
  /// What lies there, without writes on their way.
  Amount used() const;

 private:
  friend class Hold;
  Amount share_of(const Hold& hold) const;
  Result<void, aws::Refusal> fits(const Amount& more) const;

  const Amount most_;
  mutable std::mutex mutex_;
  Amount used_;
  Amount held_;
  /// The first of several writes to one name counts as what it replaces, the others as more.
  std::map<std::string, Hold*, std::less<>> first_;
};

/// Room for one file on its way into a Budget; free again when this goes. Without a Budget there is
/// always room.
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
  /// Takes room for so many bytes more, and for the file. Refusal: QuotaExceeded, with figures.
  Result<void, aws::Refusal> grow(std::uint64_t bytes);

 private:
  friend class Budget;
  void end();

  std::shared_ptr<Budget> budget_;
  std::string name_;
  std::uint64_t bytes_ = 0;
  bool is_counted_ = false;               ///< As a file.
  std::optional<std::uint64_t> present_;  ///< What it replaces.
};

/// The budgets that count what is in a table of one bucket. The table's lock is held for each call.
class Budgets {
 public:
  void add(const std::shared_ptr<Budget>& budget, std::vector<KeySpan> spans);
  /// As Budget::changed() of those in whose places `key` is.
  void changed(std::string_view key, const std::string& name, std::optional<std::uint64_t> before,
               std::optional<std::uint64_t> after, Hold* by = nullptr) const;

 private:
  struct Counting {
    std::weak_ptr<Budget> budget;
    std::vector<KeySpan> spans;
  };
  std::vector<Counting> all_;
};

/// Without those that lie in another one.
std::vector<KeySpan> apart(std::vector<KeySpan> spans);

/// "1.5 GiB".
std::string bytes_text(std::uint64_t bytes);

}  // namespace muster::bucket
