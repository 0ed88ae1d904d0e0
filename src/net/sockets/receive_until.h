#pragma once

#include "base/time.h"
#include "net/sockets/channel.h"

namespace muster::loop {

/// The channel's next frame. At `deadline`, the channel is closed and the result is `timeout`.
/// Other errors: as Channel::receive().
Task<Result<Frame>> receive_until(Loop& loop, Channel& channel, TimePoint deadline);

}  // namespace muster::loop
