#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "net/http/server.h"
#include "server/exposition.h"

namespace muster::server {

/// Counts the requests of each service by outcome, with their bytes and times. Thread-safe.
class HttpCounts {
 public:
  void add(const http::Served& served);
  void write(Exposition& to) const;

 private:
  struct Weights {
    std::array<std::uint64_t, 6> by_class{};  ///< 0: no response; 2: 200 to 299; ...
    std::uint64_t received_bytes = 0;
    std::uint64_t sent_bytes = 0;
    double seconds = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Weights, std::less<>> by_service_;  ///< One entry per service.
};

}  // namespace muster::server
