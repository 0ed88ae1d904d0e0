#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "job/launch/plan.h"
#include "job/outcome/outcome.h"

namespace muster::launch {

/// What a rank that comes is to run.
struct RankRun {
  Command command;
  Args kept;              ///< Variables of its environment that take precedence over `command.env`.
  bool near_gpu = false;  ///< The rank runs next to its GPU, if each rank of the host has one.
};

/// What one host brings to a collective call: the launch of a distributed program that every host
/// asks for alike and that happens once. It starts when all of `hosts` have called.
/// Pure. Source: docs/protocols/host-socket.md, "A call".
struct Call {
  std::string name;    ///< What is called, for people: "mpirun train.py".
  std::string digest;  ///< Equal on all hosts, or the call is refused.
  Args hosts;          ///< Hosts that must call; the first one leads.
  enum class Kind {
    mpi,       ///< A launcher starts ranks, which come to the host socket.
    direct,    ///< Each host starts `programs`.
    exchange,  ///< Nothing runs: every host gets every other's `data`.
  };
  Kind kind = Kind::mpi;
  RankRun rank;                     ///< What ranks of this host run.
  std::optional<Command> launcher;  ///< mpirun; the leading host's.
  int ranks_decide = 0;             ///< As HostPlan's.
  int ranks = 0;                    ///< How many launchers start; 0: not known.
  bool by_ssh = false;              ///< Daemons come by ssh: every host runs an sshd meanwhile.
  std::vector<HostProgram> programs;
  std::string data;  ///< Any UTF-8 text.
};

/// How a call ended.
struct CallResult {
  job::Verdict verdict;
  std::map<std::string, std::string> data;  ///< By host; of an exchange.
};
/// Called once.
using CallEnd = std::function<void(const CallResult&)>;

/// Whether one of them is a separate launcher, whose ranks connect to the host's socket.
bool has_agent(const std::vector<HostProgram>& programs);

/// The call that carries out a plan of Launcher::mpi or direct.
Call call_from(const HostPlan& plan, std::string name, std::string digest);

/// Payload of a `call` frame. Error: `protocol`.
std::string pack(const Call& call);
Result<Call> unpack_call(std::string_view payload);

/// Payload of a `host_call` frame.
struct HostCall {
  std::string name;
  std::string digest;
  std::string data;
};
std::string host_call_text(const HostCall& call);
Result<HostCall> host_call_from(std::string_view payload);

/// Payload of `call_end` and `call_result` frames.
std::string call_result_text(const CallResult& result);
Result<CallResult> call_result_from(std::string_view payload);

}  // namespace muster::launch
