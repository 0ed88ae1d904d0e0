#pragma once

// Inside server/store only: names of hyperparameters, tags and metrics as numbers.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "server/store/run_value.h"

namespace muster::store {

class Database;
class Statement;

/// Stored by its number.
enum class RunKind { hyperparameter, tag, metric };

/// Gives names their numbers, and counts the jobs that have them. For one transaction.
class RunNames {
 public:
  explicit RunNames(Database& database) : database_(database) {}

  /// The number of a name that one more job has.
  Result<std::int64_t> add(RunKind kind, const std::string& name);
  /// Stores the counts.
  Result<void> count();

 private:
  struct Added {
    std::int64_t id = 0;
    std::int64_t jobs = 0;
  };
  Database& database_;
  std::map<std::pair<RunKind, std::string>, Added> added_;
};

void bind_key(Statement& statement, const RunKey& key);

}  // namespace muster::store
