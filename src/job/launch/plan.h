#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::job {
struct Training;
}

namespace muster::launch {

/// First and last port, both usable; first >= 1024.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// How a job's program is started: the name of a launcher with a plan (job/launch/launchers.h). The
/// ones that muster itself speaks of have a constant here.
struct Runner {
  std::string_view name;

  friend bool operator==(const Runner& a, const Runner& b) = default;
  static const Runner process, mpi, smdataparallel, torch_distributed, pytorch_xla;
};
inline constexpr Runner Runner::process{"process"};
inline constexpr Runner Runner::mpi{"mpi"};
inline constexpr Runner Runner::smdataparallel{"smdataparallel"};
inline constexpr Runner Runner::torch_distributed{"torch_distributed"};
inline constexpr Runner Runner::pytorch_xla{"pytorch_xla"};

/// The MPI that an `mpirun` belongs to, by `mpirun --version` (job/launch/mpi_flavour.h).
struct MpiFlavour {
  enum class Kind { open_mpi, mpich, intel_mpi };
  Kind kind = Kind::open_mpi;
  int major = 4;  ///< First number of its version.
};

/// How mpirun's daemons are started on members.
enum class Transport { sessions, ssh };

/// What a plan needs that is not in the job's files.
struct Options {
  std::optional<Runner> runner;  ///< None: the one that the hyperparameters ask for.
  MpiFlavour mpi;                ///< Read by MPI plans only.
  Transport transport = Transport::sessions;
  std::string python = "python3";  ///< The interpreter, a path or a name for PATH.
  std::string sm;                  ///< Absolute path of our binary; every MPI rank is `<sm> rank`.
  /// Absolute path that mpirun takes as its rsh agent: one word, no space, ':' or quote, for
  /// mpirun loses an argument of the agent (docs/decisions/0004-mpirun.md).
  std::string agent;
  std::string code_dir;          ///< Where the user's code lies and ranks start. Absolute.
  bool has_setup_py = false;     ///< code_dir holds setup.py: a Python package.
  bool entry_exists = true;      ///< The entry point is a file in code_dir.
  bool entry_executable = true;  ///< ... and has an x bit.
  std::string entry_first_line;  ///< ... and begins so; matters for shell scripts, may be cut.
  bool display_map = false;      ///< mpirun says which rank goes where, if it is Open MPI's.
  /// muster's platform started this host, and chose NCCL's interface if that is known. Otherwise,
  /// all variables for NCCL are as sagemaker-training sets them.
  bool on_platform = false;
  Env env;  ///< What user processes start from: without MUSTER_*, see host/env/options.h.
  std::optional<PortRange> daemon_ports;   ///< For orted's TCP; none: any port.
  std::optional<PortRange> message_ports;  ///< For the ranks' TCP (btl); none: any port.
};

enum class Launcher {
  process,  ///< One program on this host, which is the host's work.
  mpi,      ///< mpirun on the leading host starts ranks everywhere.
  direct,   ///< Each host starts its share itself: `programs`.
};

/// A program that a host starts itself as its share of a distributed one.
struct HostProgram {
  std::string name;  ///< For people: "worker 1", "ps 0", "scheduler", "torchrun".
  int rank = -1;     ///< The rank whose lines its output is; -1: the host's own.
  Command command;
  /// When all programs that decide have succeeded, on all hosts, the others are ended and the job
  /// succeeds (a parameter server never exits on its own). A program that fails ends the job,
  /// deciding or not.
  bool decides = true;
  /// A separate launcher: its ranks connect to the host's socket, as `sm rank`, and it is ended
  /// with them. It is not a process of the user's, so a stop request does not signal it.
  bool agent = false;
};

/// What one host runs. Every host makes its own from its own files; only the leading host's has a
/// launcher command.
struct HostPlan {
  Launcher launcher = Launcher::process;
  Transport transport = Transport::sessions;  ///< For launcher mpi.
  /// mpirun, on the leader of an MPI job. The caller adds MUSTER_SOCKET to its env.
  std::optional<Command> launcher_command;
  /// What every rank of this host runs, or (launcher process) the program itself, or (launcher
  /// direct) the user's command, before what the plan does to it for each of `programs`; where
  /// these are agents, with the words that each of their ranks runs.
  Command rank;
  std::vector<HostProgram> programs;  ///< For launcher direct.
  /// Variables that the user gave by mpirun's -x (or --prefix changes): the rank's given value wins
  /// over `rank.env`.
  Args kept_names;
  /// How many of the job's ranks run here. mpirun fills one host after another, so the last hosts
  /// may have none. An upper bound if custom options set a different mapping.
  int ranks_here = 1;
  int ranks_total = 1;  ///< In the whole job; for launcher process, on this host.
  /// Once so many ranks have ended well, the launcher's own failure counts for nothing; 0: it does.
  int ranks_decide = 0;
  bool ranks_near_gpus = false;  ///< Ranks run next to their GPUs (MUSTER_NUMA).
  bool roll_call = false;        ///< The job has more than one host: they gather first.
  Args hosts;                    ///< Hosts that take part in the distribution; the first one leads.
  Args log;                      ///< What the reference's log says of an MPI launch: mpi_log().
};

/// The environment for mpirun and its daemons: `base` without what another launcher or batch
/// system left there (mpirun under SLURM_* ignores our host list) and without MCA parameters that
/// would undo ours.
Env launcher_environment(const Env& base);

/// What a plan's ranks are started by, for people: "mpirun", or its first program: "torchrun".
std::string launcher_name(const HostPlan& plan);

/// For --print-plan. Values of variables whose names speak of keys, secrets, tokens, passwords or
/// credentials are masked; SM_* are counted, not listed.
std::string plan_text(const HostPlan& plan);

}  // namespace muster::launch
