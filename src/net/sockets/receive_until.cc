#include "net/sockets/receive_until.h"

#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::loop {
namespace {

Task<> close_at(Loop& loop, Channel& channel, TimePoint deadline, bool& late) {
  Timer timer(loop);
  const bool came = co_await timer.until(deadline);
  if (!came) co_return;
  late = true;
  channel.close();
}

}  // namespace

Task<Result<Frame>> receive_until(Loop& loop, Channel& channel, TimePoint deadline) {
  bool late = false;
  Tasks guard(loop);
  guard.start(close_at(loop, channel, deadline, late));
  Result<Frame> frame = co_await channel.receive();
  if (!frame && late) co_return fail(Errc::timeout, "no response in time");
  co_return frame;
}

}  // namespace muster::loop
