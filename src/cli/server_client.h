#pragma once

#include <functional>
#include <string>

#include "base/command.h"
#include "cli/api_client.h"
#include "cli/out.h"

namespace muster::cli {

/// What a command that talks to a server works with.
struct Client {
  loop::Loop& loop;
  ApiClient& api;
  Out& out;          ///< Standard output; flushed when the command ends.
  bool colour;       ///< On standard output.
  std::string name;  ///< "sm jobs"
  /// Printed when a signal ends the command: what continues without it. Empty: nothing.
  std::string farewell{};
  /// Called before that: puts a terminal back. Empty: nothing is to be done.
  std::function<void()> at_signal{};
  /// A folder that goes when a signal ends the command; empty: none.
  std::string unfinished{};

  void complain(const std::string& text) const;
};

/// One line of standard error that the next one is written over, on a terminal only; an empty one
/// goes.
void show_progress(const std::string& text);

/// Runs `work` to its end and returns the exit code: its own, or that of its Error, which is
/// printed. SIGINT, SIGTERM and SIGHUP end the command at once, without any effect on the server.
int run_client(const std::string& name, const Env& env,
               const std::function<loop::Task<Result<int>>(Client& client)>& work);

/// 2 for what was given (a job that does not exist, a wrong key), 3 for what was not there.
int exit_code_of_client(const Error& error);

/// An operation about a job, "SageMaker.DescribeTrainingJob". Error: as ApiClient::call(); an
/// unknown job is `not_found`, by its name.
loop::Task<Result<Json>> ask_about(Client& client, std::string operation, std::string job,
                                   ApiClient::Patience patience);
/// DescribeTrainingJob, with the same errors.
loop::Task<Result<Json>> describe(Client& client, std::string job, ApiClient::Patience patience);

}  // namespace muster::cli
