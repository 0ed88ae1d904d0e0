#pragma once

#include <functional>
#include <string>

#include "aws/access/keyring.h"
#include "aws/request_head.h"
#include "net/http/server.h"
#include "net/loop/tasks.h"
#include "server/exposition.h"

namespace muster::server {

/// For monitoring: /healthz (the main loop responds), /readyz (the store accepts a write and the
/// stewards respond; checked at most once a second), and /metrics in Prometheus' format for clients
/// with a user's access key (HTTP Basic) or the token. Runs on the loops of connections.
class Probes {
 public:
  struct Options {
    loop::Tasks& calls;                    ///< On the main loop, where the next two run.
    std::function<std::string()> trouble;  ///< One line that anyone can read; empty: no trouble.
    std::function<void(Exposition&)> write;
    std::function<void(Exposition&)> write_here;  ///< On any thread.
    const access::KeyRing& keys;
    std::string token;  ///< Bearer token for /metrics; empty: no token.
    std::function<UnixMillis()> now;
  };
  explicit Probes(Options options) : options_(std::move(options)) {}

  /// True for GET and HEAD of one of the three paths; called only for unsigned requests.
  static bool takes(const aws::RequestHead& head);
  loop::Task<void> answer(http::Exchange& exchange);

 private:
  loop::Task<void> answer_ready(http::Exchange& exchange);
  loop::Task<void> answer_metrics(http::Exchange& exchange);
  bool may_see(http::Exchange& exchange, const aws::RequestHead& head) const;
  std::string trouble();

  Options options_;
  // Used only on the main loop:
  TimePoint looked_{};
  std::string last_;
};

}  // namespace muster::server
