#pragma once

#include "base/json.h"

namespace muster::container {

/// The `linux.seccomp` part of a bundle: which system calls a host's processes may make.
///
/// Pure. An allow list for x86-64 only, as strict as Docker's default profile: no new namespaces,
/// mounts, keys, modules, BPF, perf, clocks. Calls that Open MPI and debuggers use between a job's
/// own processes are allowed (process_vm_readv, ptrace, the NUMA policy of the process's own
/// memory). A call that is not listed fails with ENOSYS, so that the C library falls back to an
/// older call (from clone3 to clone, whose flags the filter can check). A call that is always
/// forbidden fails with EPERM. Sockets are unix, IP and routing netlink; other families fail with
/// EAFNOSUPPORT. Calls of another architecture (int 0x80, x32) kill the process. ioctl is not
/// checked: TIOCSTI can type only into the host's own terminals.
///
/// Without `may_set_ids`, no file can get a setuid or setgid bit: all calls that could set one fail
/// with EPERM, and openat2 fails with ENOSYS, because the filter cannot check its mode.
Json seccomp_profile(bool may_set_ids = true);

}  // namespace muster::container
