#pragma once

#include "base/command.h"
#include "job/launch/mpirun_options.h"
#include "job/launch/plan.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {

/// What mpirun's line is made of. Everything in it has been checked.
struct MpiLine {
  const Inputs& inputs;
  const Options& options;
  const CustomOptions& custom;
  int ranks_total;
  const Env& variables;     ///< What every rank gets by -x, unless custom options say otherwise.
  const Env& launcher_env;  ///< mpirun's own.
};

/// Sets by variables which network interface a rank of this host and its launcher's daemon use:
/// `inputs.interface`, whose name is this host's alone. The user's own options and variables stay.
void set_interfaces(Env& env, const Inputs& inputs, const Options& options,
                    const CustomOptions& custom);

/// Open MPI 4 and 5. The line ends in `sm rank`, as does hydra's.
/// Source: sagemaker-training 5.1.4, mpi.py; mpirun(1), Open MPI 4.1 and 5.0.
Args open_mpi_line(const MpiLine& line);

void set_open_mpi_interfaces(Env& env, const Inputs& inputs, const Options& options,
                             const CustomOptions& custom);

/// Open MPI 5 gets its agent from mpirun's environment: on the command line, it would take the
/// first word that is the program's path as the program, and our agent is the same file as `sm
/// rank`. Over ssh, mpirun has no interface of muster's choice, because PRRTE 3 passes it on to
/// every daemon: it then listens on all, and daemons try each of its addresses.
void add_open_mpi_agent(Env& env, const Options& options);

/// MPICH and Intel MPI. Source: docs/decisions/0010-mpi-flavours.md.
Args hydra_line(const MpiLine& line);

}  // namespace muster::launch
