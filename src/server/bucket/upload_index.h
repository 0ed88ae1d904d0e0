#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/bucket/span_budget.h"

namespace muster::bucket {

/// The space used by a bucket's uploads: one entry for each upload and each of its parts, in
/// memory. A completed upload counts as a file as long as its result is kept. Any number of
/// threads.
class UploadIndex {
 public:
  using Parts = std::map<int, std::uint64_t>;  ///< Sizes by number.

  void begun(const std::string& id, std::string key, std::string owner, Hold* by = nullptr);
  /// Calls `put`, which moves the part to its place. False if the upload no longer exists, or its
  /// parts are already an object.
  Result<bool> put_part(const std::string& id, int number, std::uint64_t bytes, Hold* by,
                        const std::function<Result<void>()>& put);
  /// The parts no longer count, because they become an object; returns them, for reopened().
  Parts completed(const std::string& id);
  void reopened(const std::string& id, const Parts& parts);
  /// From now on nothing is added to it.
  void forget(const std::string& id);
  std::vector<std::string> owned_by(const std::string& owner) const;
  /// The owners of open uploads, except "".
  std::vector<std::string> owners() const;

  /// From now on, `budget` counts the uploads in `spans`.
  void count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans);
  /// Reserves space for a part.
  void hold(Hold& hold, std::shared_ptr<Budget> budget, const std::string& id, int number) const;

 private:
  struct Upload {
    std::string key;
    std::string owner;
    Parts parts;
    bool is_open = true;
  };
  void tell_parts(const std::string& id, const Upload& upload, bool come) const;

  mutable std::mutex mutex_;
  std::map<std::string, Upload> uploads_;
  Budgets budgets_;
};

}  // namespace muster::bucket
