#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace muster::jobs {

/// Amounts by name. Names are the config's: "cpu" (thousandths), "memory" (bytes), "gpu",
/// "ml.c5.xlarge" (hosts of that instance type at a time), "hosts" (of whatever type).
using Amounts = std::map<std::string, std::int64_t>;

/// `count` times what one host needs, added to `amounts`.
void add(Amounts& amounts, const Amounts& each, std::int64_t count);

struct Demand {
  std::string job;
  Amounts needs;  ///< All hosts' together: a job starts with all or not at all.
};

/// The names of the jobs to start now, in order. First in, first out: a job that has to wait keeps
/// what it waits for from those behind it, while jobs that want none of that pass it by. A resource
/// that `capacity` does not name has no limit. Pure.
///
/// `running`: jobs that hold what they need; `waiting`: in order of submission.
std::vector<std::string> startable(const Amounts& capacity, const std::vector<Demand>& running,
                                   const std::vector<Demand>& waiting);

/// What of `needs` goes beyond the whole of `capacity`: one line each, in the config's words,
/// "gpus: 8 wanted, 4 there". Empty for a job that can run. Pure.
std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs);

/// The place of `job` among those that wait, and what it waits for: "place 2 of 3; gpus: 4 wanted,
/// 1 of 8 free", or, where there is room, behind whom it waits. Empty if it does not wait. Pure.
std::string why_waiting(const Amounts& capacity, const std::vector<Demand>& running,
                        const std::vector<Demand>& waiting, const std::string& job);

}  // namespace muster::jobs
