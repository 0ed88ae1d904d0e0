#pragma once

#include <functional>
#include <string>

#include "access/keyring.h"
#include "aws/request_head.h"
#include "http/server.h"
#include "loop/tasks.h"
#include "server/exposition.h"

namespace muster::server {

/// For machines that watch: /healthz (the main loop answers), /readyz (the store takes a write, at
/// most one a second), and /metrics in Prometheus' form for who has an access key of a user's (HTTP
/// Basic) or the token. Runs on the loops of connections.
class Probes {
 public:
  struct Options {
    loop::Tasks& calls;                   ///< On the main loop, where the next two run.
    std::function<Result<void>()> ready;  ///< Error: what is wrong; strangers do not see it.
    std::function<void(Exposition&)> write;
    std::function<void(Exposition&)> write_here;  ///< On any thread.
    const access::KeyRing& keys;
    std::string token;  ///< Bearer token for /metrics; empty: there is none.
    std::function<UnixMillis()> now;
  };
  explicit Probes(Options options) : options_(std::move(options)) {}

  /// True for GET and HEAD of one of the three paths; unsigned ones alone are asked for.
  static bool takes(const aws::RequestHead& head);
  loop::Task<void> answer(http::Exchange& exchange);

 private:
  loop::Task<void> answer_ready(http::Exchange& exchange);
  loop::Task<void> answer_metrics(http::Exchange& exchange);
  bool may_see(http::Exchange& exchange, const aws::RequestHead& head) const;
  Result<void> ready();

  Options options_;
  // The main loop alone touches these:
  TimePoint looked_{};
  Result<void> last_ = Result<void>();
};

}  // namespace muster::server
