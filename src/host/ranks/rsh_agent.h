#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::launch {

/// The parsed command line with which mpirun calls its remote shell.
struct AgentRequest {
  std::string host;
  std::string text;  ///< The command, its words joined by spaces as ssh does.
};

/// `words` are the agent's arguments: options for ssh, the host's name, the command.
/// Error: `invalid_input`.
Result<AgentRequest> agent_request(const Args& words);

/// mpirun's parsed request to its remote shell: start one daemon.
struct AgentCall {
  struct Change {
    std::string name;
    std::string value;
    bool before_present = false;  ///< `value` (ends in ':') is put before the host's own value.

    bool operator==(const Change&) const = default;
  };
  std::vector<Change> environment;  ///< In order; only paths that --prefix sets.
  Args argv;  ///< argv[0] is a daemon's name or an absolute path that ends in it.

  bool operator==(const AgentCall&) const = default;
};

/// Parses the words that mpirun passes to its agent after the host name, joined by spaces. No shell
/// is used: the parser accepts exactly the forms that Open MPI 4.1, Open MPI 5 and hydra write,
/// with or without --prefix, for bash, zsh, sh and ksh as login shells. Error: `denied`, for
/// anything else. Source: setup_launch() of plm_rsh_module.c, Open MPI 4.1.4, and of
/// plm_ssh_module.c, PRRTE 3.0; hydra's calls as observed (MPICH 5.0.2, Intel MPI 2021.13).
Result<AgentCall> parse_agent_call(std::string_view text);

/// The daemon's command on a host whose launchers use the environment `base`, with the network
/// interface that set_interfaces() set there, if any. Error: `denied`.
Result<Command> agent_command(std::string_view text, const Env& base);

/// Whole lines from a launcher, without its warning that it could not put the agent into a process
/// group: the agent has its own group by then, and mpirun continues. Source: setup_launch() and
/// launch_daemons() of the same files; docs/decisions/0004-mpirun.md.
std::string without_group_warning(std::string_view lines);

}  // namespace muster::launch
