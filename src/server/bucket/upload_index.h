#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/bucket/budget.h"

namespace muster::bucket {

/// What a bucket's uploads take: one entry for each upload and each of its parts, in memory. An
/// upload that was completed counts as a file for as long as its answer is kept. Any number of
/// threads.
class UploadIndex {
 public:
  using Parts = std::map<int, std::uint64_t>;  ///< Sizes by number.

  void begun(const std::string& id, std::string key, std::string owner, Hold* by = nullptr);
  /// Calls `put`, which puts the part in its place. False: there is no such upload any more, or its
  /// parts are an object already.
  Result<bool> put_part(const std::string& id, int number, std::uint64_t bytes, Hold* by,
                        const std::function<Result<void>()>& put);
  /// The parts count no more, for they become an object; gives them, for reopened().
  Parts completed(const std::string& id);
  void reopened(const std::string& id, const Parts& parts);
  /// Nothing is put into it from now on.
  void forget(const std::string& id);
  std::vector<std::string> owned_by(const std::string& owner) const;
  /// The owners of open uploads, but "".
  std::vector<std::string> owners() const;

  /// From now on `budget` counts what lies in `spans`.
  void count(const std::shared_ptr<Budget>& budget, const std::vector<KeySpan>& spans);
  /// For a part to come.
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
