#pragma once

#include "base/json.h"

namespace muster::container {

/// The `linux.seccomp` part of a bundle: which system calls a host's processes may make.
///
/// Pure. An allow list for x86-64 alone, as strong as Docker's default profile: no new namespaces,
/// mounts, keys, modules, BPF, perf, clocks. What Open MPI and debuggers need among a job's own
/// processes stays (process_vm_readv, ptrace, NUMA policy of one's own memory). A call that is not
/// listed fails with ENOSYS, so that the C library falls back (clone3 to clone, whose flags can be
/// looked at); one that is refused for good with EPERM. Sockets are unix, IP and routing netlink;
/// other families fail with EAFNOSUPPORT. Calls of another architecture (int 0x80, x32) kill.
/// ioctl is not looked at: of terminals, which TIOCSTI would type into, a host has its own only.
///
/// Without `may_set_ids` no file gets a setuid or setgid bit: EPERM from all calls that could give
/// it one, and openat2, whose mode cannot be looked at, is not there.
Json seccomp_profile(bool may_set_ids = true);

}  // namespace muster::container
