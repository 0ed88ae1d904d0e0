// The web page's view of the machine: who holds what of it, who waits, room on the disk.

#include <sys/statvfs.h>

#include "aws/api/inputs.h"
#include "net/loop/other_loop.h"
#include "net/loop/worker.h"
#include "server/web/web_server_call.h"

namespace muster::server {

using loop::Task;

/// As machine_view(), with {"disk": {"free", "total"}}: bytes where the data folder is, free for
/// the server itself. Without it if the file system does not tell.
Task<Result<Json, aws::Refusal>> WebServer::machine(Call& call) {
  std::function<Task<Json>()> look = [this]() -> Task<Json> { co_return options_.state.machine(); };
  Json view = co_await loop::run_on(call.exchange.loop(), options_.calls, std::move(look));
  struct statvfs disk {};
  const auto measure = [&] { return ::statvfs(options_.store.c_str(), &disk) == 0; };
  const bool measured = co_await loop::in_thread(call.exchange.loop(), measure);
  if (measured)
    view["disk"] = {{"free", std::uint64_t{disk.f_bavail} * disk.f_frsize},
                    {"total", std::uint64_t{disk.f_blocks} * disk.f_frsize}};
  co_return view;
}

}  // namespace muster::server
