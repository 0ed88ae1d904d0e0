#pragma once

// Inside server/ only: one call of the web page, and a log that it reads.

#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "server/web_server.h"

namespace muster::server {

/// Lives in the coroutine that answers the exchange, for as long as that.
struct WebServer::Call {
  http::Exchange& exchange;
  web::Visit visit;
  std::string name;
  Json input;
};

/// A job's log as pages read it, all of them the same one. One thread at a time.
struct WebServer::Book {
  explicit Book(const std::vector<logs::MergedLog::Host>& of) : hosts(of), log(of) {}
  std::mutex mutex;
  std::vector<logs::MergedLog::Host> hosts;
  bool ended = false;
  logs::MergedLog log;
  std::uint64_t used = 0;  ///< The higher the later; WebServer's mutex guards it.
};

}  // namespace muster::server
