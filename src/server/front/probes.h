#pragma once

#include <functional>
#include <string>

#include "aws/access/keyring.h"
#include "aws/request_head.h"
#include "net/http/server.h"
#include "net/loop/tasks.h"
#include "server/exposition.h"

namespace muster::server {

/// For machines that watch: /healthz (the main loop answers), /readyz (the store takes a write and
/// stewards answer; looked at once a second at most), and /metrics in Prometheus' form for who has
/// an access key of a user's (HTTP Basic) or the token. Runs on the loops of connections.
class Probes {
 public:
  struct Options {
    loop::Tasks& calls;                    ///< On the main loop, where the next two run.
    std::function<std::string()> trouble;  ///< In a line that strangers read; empty: none.
    std::function<void(Exposition&)> write;
    std::function<void(Exposition&)> write_here;  ///< On any thread.
    const access::KeyRing& keys;
    std::string token;  ///< Bearer token for /metrics; empty: no token.
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
  std::string trouble();

  Options options_;
  // The main loop alone touches these:
  TimePoint looked_{};
  std::string last_;
};

}  // namespace muster::server
