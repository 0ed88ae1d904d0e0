#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "job/launch/plan.h"

namespace muster::launch {

// Flavours of MPI: what an mpirun is. Pure.

/// The network interface of hydra's daemons on a host.
inline constexpr const char* hydra_interface = "HYDRA_IFACE";

/// From what `mpirun --version` writes. Error: `invalid_input`, with its first line, for an MPI
/// that muster does not know, and for Open MPI before 4.
Result<MpiFlavour> mpi_flavour_from(std::string_view version_text);

/// For people: "Open MPI 4", "MPICH 5", "Intel MPI 2021".
std::string name_of(const MpiFlavour& flavour);

/// True if mpirun is hydra, whose options, daemons and variables are not Open MPI's.
inline bool is_hydra(const MpiFlavour& flavour) {
  return flavour.kind != MpiFlavour::Kind::open_mpi;
}

/// True for a variable by which a launcher of any flavour gives its ranks their identity and
/// addresses. Only the launcher can set it correctly. Observed on remote ranks; listed in
/// docs/decisions/0004-mpirun.md and 0010-mpi-flavours.md.
bool told_to_ranks(std::string_view name);

/// The variables of `launcher` (launcher_environment()) that Open MPI's daemon needs in an ssh
/// session: MCA parameters, this host's interfaces among them. Left out: values that sshd_config
/// cannot hold as one word.
Env ssh_session_variables(const Env& launcher);

}  // namespace muster::launch
