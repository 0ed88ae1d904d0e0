#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/json.h"
#include "base/result.h"

namespace muster::cli {

struct Forked;

/// `sm fit --detach`: a child process runs the job. It shares the parent's terminal and ends with
/// the parent until the machine has accepted the job; then it continues independently.
class Detachment {
 public:
  /// Forks, with no thread running yet; returns in both, in the parent when the child has left or
  /// ended.
  static Result<Forked> fork();

  /// Leaves the terminal, its session and its folder, and notifies the parent. From now on,
  /// standard error goes to `log_file`, so write only short texts to it. Error: `closed`: the
  /// parent has exited; `system`.
  Result<void> leave(const std::string& log_file, const Json& word);

 private:
  explicit Detachment(Fd parent) : parent_(std::move(parent)) {}
  Fd parent_;
};

struct Forked {
  std::optional<Detachment> child{};  ///< In the child: what lets it leave.
  std::optional<Json> told{};         ///< In the parent: leave()'s word.
  int exit_code = 0;                  ///< In the parent without a word: the child's.
};

/// Prints the result of starting a detached job, and the next commands to use. Returns the exit
/// code.
int tell_detached(const Forked& forked, bool json);

}  // namespace muster::cli
