#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/command.h"
#include "cli/out.h"
#include "platform/places/job_record.h"

namespace muster::cli {

/// The context of a command about a job of this machine.
struct Here {
  loop::Loop& loop;
  Out& out;           ///< Standard output; flushed when the command ends.
  bool colour;        ///< On standard output.
  std::string name;   ///< "sm logs"
  std::string state;  ///< The folder in which the machine keeps its jobs.
  /// Printed when a signal ends the command; says what continues without it. Empty: nothing is
  /// printed.
  std::string farewell{};
  /// Called before that: puts a terminal back. Empty: nothing is to be done.
  std::function<void()> at_signal{};

  void complain(const std::string& text) const;
};

/// As run_client(), without a server.
int run_here(const std::string& name, const Env& env,
             const std::function<loop::Task<Result<int>>(Here& here)>& work);

/// For commands that work only for a server's jobs: why `name` is not such a job, if no server is
/// named and this machine has a job with this name. Empty: ask a server.
std::string why_local(const Env& env, const std::string& name);

/// The error, with a hint on how to reach a server's jobs.
Error with_server_hint(const Error& error);

/// Prints the error as run_here() does, and returns the exit code.
int end_with(const std::string& name, const Error& error);

/// True if `env` names a server.
bool names_server(const Env& env);

/// The job of this machine with this name; none: ask the server that `env` names. Jobs of this
/// machine have priority. Errors: `not_found`, `denied`: neither has it.
Result<std::optional<places::FoundJob>> own_job(const Env& env, const std::string& name);

}  // namespace muster::cli
