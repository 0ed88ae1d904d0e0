#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/time.h"
#include "net/loop/task.h"

namespace muster::loop {
class Loop;
}

namespace muster::sampler {

/// A way to NCCL's service for diagnosis (RAS) in a host's network. Whatever listens there is a
/// job's program. By default it listens on the first address of "localhost" that the host's
/// resolver names, which is ::1 in an image with glibc and /etc/hosts as usual.
struct RasWay {
  Fd ipv4{};  ///< A socket in the host's network, not connected. None: the kernel has no such.
  Fd ipv6{};
  std::uint16_t port = 0;
};

/// The port in the variable NCCL_RAS_ADDR among NAME=VALUE strings that end in NUL. None: it is not
/// set, or names another machine than this one. Pure.
std::optional<std::uint16_t> ras_port_in(std::string_view environment);

/// The way to RAS of the processes at or below `init`, whose port one of them may set. Where the
/// host shares this process's network, other jobs may use NCCL's own port, so only a port that is
/// set is used. None: there is no way. Call it before this process enters a user namespace.
std::optional<RasWay> ras_way(pid_t init);

/// What RAS answers to job::nccl_request, at most job::nccl_answer_bytes_max, and what has arrived
/// after `limit`. Empty: nothing listens there.
loop::Task<std::string> ask_ras(loop::Loop& loop, RasWay way, Duration limit);

}  // namespace muster::sampler
