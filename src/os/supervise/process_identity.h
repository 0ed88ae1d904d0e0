#pragma once

#include <cstdint>
#include <string_view>

// Pure: who a process is, from its files in /proc.

namespace muster::supervise {

/// The number that a launcher's variables give to a process among NAME=VALUE strings that end in
/// NUL; -1: none. Open MPI's, PMIx', PMI's (MPICH), torchrun's.
int rank_in(std::string_view environment);

/// The number that a process or a thread has in its own pid namespace, from its file `status`;
/// `outer`, if the file does not say. Source: proc(5), NSpid.
std::int64_t inner_number(std::string_view status, std::int64_t outer);

/// The effective user of a process, from its file `status`; -1: the file does not say.
std::int64_t user_in(std::string_view status);

}  // namespace muster::supervise
