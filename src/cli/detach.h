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

/// `sm fit --detach`: the process that carries the job is a child of the one that was called, on
/// its terminal and with its end, until the machine has taken the job; then it goes on by itself.
class Detachment {
 public:
  /// Forks, with no thread running yet; returns in both, in the parent when the child has left or
  /// ended.
  static Result<Forked> fork();

  /// Leaves the terminal, its session and its folder, and tells the parent. Standard error goes to
  /// `log_file` from now on, which nothing long may be written to. Error: `closed`: the parent is
  /// gone; `system`.
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

/// Tells what became of a job that was to be detached, and what to type next. The exit code.
int tell_detached(const Forked& forked, bool json);

}  // namespace muster::cli
