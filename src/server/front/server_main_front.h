#pragma once

#include <functional>

#include "aws/access/verify.h"
#include "aws/api/protocol.h"
#include "aws/api/request.h"
#include "net/http/server.h"
#include "net/loop/tasks.h"
#include "server/api_handler.h"

namespace muster::server {

/// The one port: finds out for which service a request is, checks its signature, and has S3's or
/// the API's handler answer it. On the loops of connections; the API's handler alone is on the main
/// loop.
class Front {
 public:
  struct Options {
    loop::Tasks& calls;      ///< On the main loop, with what `api` uses: calls under way.
    http::Handler s3;        ///< Answers requests that belong to no other service.
    http::Handler registry;  ///< Answers what is unsigned, below /v2/.
    http::Handler probes;    ///< Answers what is unsigned and Probes takes.
    http::Handler web;       ///< Answers unsigned requests, below /ui/; null: they are refused.
    /// CreateWebLink: a path that opens the web page once, for the key that has signed for it.
    std::function<Result<std::string>(const std::string& key)> web_link;
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
