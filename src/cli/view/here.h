#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/command.h"
#include "cli/out.h"
#include "platform/places/job_record.h"

namespace muster::cli {

/// What a command about a job of this machine works with.
struct Here {
  loop::Loop& loop;
  Out& out;           ///< Standard output; flushed when the command ends.
  bool colour;        ///< On standard output.
  std::string name;   ///< "sm logs"
  std::string state;  ///< Where the machine keeps its jobs.
  /// Printed when a signal ends the command: what continues without it. Empty: nothing.
  std::string farewell{};

  void complain(const std::string& text) const;
};

/// As run_client(), without a server.
int run_here(const std::string& name, const Env& env,
             const std::function<loop::Task<Result<int>>(Here& here)>& work);

/// For commands that only a server's jobs have: why `name` cannot be one of them, if no server is
/// named and this machine has such a job. Empty: a server is to be asked.
std::string why_local(const Env& env, const std::string& name);

/// The error, and what to do to reach a server's jobs.
Error with_server_hint(const Error& error);

/// Says what is in the way, as run_here() does. The exit code.
int end_with(const std::string& name, const Error& error);

/// True if `env` names a server.
bool names_server(const Env& env);

/// The job of this machine that has the name; none: a server is named, to be asked for it. What
/// this machine has comes first. Error: `not_found`, `denied`: neither can have it.
Result<std::optional<places::FoundJob>> own_job(const Env& env, const std::string& name);

}  // namespace muster::cli
