#include "server/front/http_counts.h"

#include <doctest/doctest.h>

namespace muster::server {
namespace {

TEST_CASE("HTTP counts: by service and class of status") {
  HttpCounts counts;
  http::Served served;
  served.service = "s3";
  served.status = 204;
  served.received_bytes = 10;
  served.sent_bytes = 5;
  served.took = std::chrono::milliseconds(500);
  counts.add(served);
  counts.add(served);
  served.service = {};
  served.status = 0;
  counts.add(served);
  Exposition to;
  counts.write(to);
  const auto has = [&](const char* line) { return to.text().find(line) != std::string::npos; };
  CHECK(has("muster_http_requests_total{service=\"s3\",status=\"2xx\"} 2\n"));
  CHECK(has("muster_http_requests_total{service=\"none\",status=\"none\"} 1\n"));
  CHECK(has("muster_http_request_seconds_total{service=\"s3\"} 1\n"));
  CHECK(has("muster_http_received_bytes_total{service=\"s3\"} 20\n"));
  CHECK(has("muster_http_sent_bytes_total{service=\"none\"} 5\n"));
}

}  // namespace
}  // namespace muster::server
