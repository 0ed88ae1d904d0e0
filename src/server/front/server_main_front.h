#pragma once

#include <functional>

#include "aws/access/verify.h"
#include "aws/api/protocol.h"
#include "aws/api/request.h"
#include "net/http/server.h"
#include "net/loop/tasks.h"
#include "server/api_handler.h"

namespace muster::server {

/// The server's only port: determines the service of a request, checks its signature, and passes it
/// to the handler of S3 or of the API. Runs on the connections' loops; only the API's handler runs
/// on the main loop.
class Front {
 public:
  struct Options {
    loop::Tasks& calls;      ///< Running calls, on the main loop, like everything that `api` uses.
    http::Handler s3;        ///< Answers requests that belong to no other service.
    http::Handler registry;  ///< Answers unsigned requests below /v2/.
    http::Handler probes;    ///< Answers unsigned requests that Probes accepts.
    http::Handler web;       ///< Answers unsigned requests, below /ui/; null: they are refused.
    /// CreateWebLink: a path that opens the web page once, for the key that signed the request.
    std::function<std::string(const std::string& key)> web_link;
    access::Verifier& verifier;
    ApiHandler api;
    std::function<UnixMillis()> now;  ///< Wall clock; any thread.
  };
  explicit Front(Options options) : options_(std::move(options)) {}

  loop::Task<void> answer(http::Exchange& exchange);

 private:
  api::Answer web_link(const access::AccessKey& key);
  loop::Task<void> answer_api(http::Exchange& exchange, api::ApiHead api_head);

  Options options_;
};

}  // namespace muster::server
