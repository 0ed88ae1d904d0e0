#include "server/front/http_counts.h"

#include <algorithm>
#include <vector>

namespace muster::server {

void HttpCounts::add(const http::Served& served) {
  const std::string_view service = served.service.empty() ? "none" : served.service;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = by_service_.find(service);
  if (found == by_service_.end()) found = by_service_.emplace(service, Weights()).first;
  Weights& weights = found->second;
  ++weights.by_class[static_cast<std::size_t>(std::clamp(served.status / 100, 0, 5))];
  weights.received_bytes += served.received_bytes;
  weights.sent_bytes += served.sent_bytes;
  weights.seconds += std::chrono::duration<double>(served.took).count();
}

void HttpCounts::write(Exposition& to) const {
  const auto all = [this] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return by_service_;
  }();
  to.family("muster_http_requests_total", "counter", "Requests by service and class of status.");
  for (const auto& [service, weights] : all)
    for (std::size_t i = 0; i < weights.by_class.size(); ++i) {
      if (weights.by_class[i] == 0) continue;
      const std::string status = i == 0 ? "none" : std::to_string(i) + "xx";
      to.sample({{"service", service}, {"status", status}},
                static_cast<double>(weights.by_class[i]));
    }
  to.family("muster_http_request_seconds_total", "counter", "Total time of requests.");
  for (const auto& [service, weights] : all) to.sample({{"service", service}}, weights.seconds);
  to.family("muster_http_received_bytes_total", "counter", "Bytes of requests' bodies.");
  for (const auto& [service, weights] : all)
    to.sample({{"service", service}}, static_cast<double>(weights.received_bytes));
  to.family("muster_http_sent_bytes_total", "counter", "Bytes of responses.");
  for (const auto& [service, weights] : all)
    to.sample({{"service", service}}, static_cast<double>(weights.sent_bytes));
}

}  // namespace muster::server
