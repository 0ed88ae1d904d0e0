#include "cli/job_commands/doorway.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

TEST_CASE("doorway: the owner of the socket at the other end, as the kernel lists it") {
  const std::string lines =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout\n"
      "   0: 0100007F:A8CA 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000  0 1 1\n"
      "   1: 0100007F:A8CA 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000  0 2 1\n"
      "   2: 0100007F:C350 0100007F:A8CA 01 00000000:00000000 00:00000000 00000000    33  0 3 1\n"
      "   3: 0100007F:C351 0100007F:A8CA 06 00000000:00000000\n";
  CHECK(owner_of(lines, 50000, 43210) == 33);
  CHECK(owner_of(lines, 43210, 50000) == 1000);
  CHECK(!owner_of(lines, 50001, 43210));
  CHECK(!owner_of("", 50000, 43210));
}

TEST_CASE("doorway: only the user who opens the address gets in") {
  http::Incoming request;
  request.method = "GET";
  request.target = "/";
  request.headers = {{"Host", "127.0.0.1:80"}};
  CHECK(is_opened_by_hand(request, 80));
  CHECK(!is_opened_by_hand(request, 81));
  request.headers.emplace_back("Sec-Fetch-Site", "none");
  CHECK(is_opened_by_hand(request, 80));
  for (const char* from : {"cross-site", "same-site", "same-origin", ""}) {
    request.headers.back().second = from;
    CHECK(!is_opened_by_hand(request, 80));
  }
  request.headers.pop_back();
  request.headers.front().second = "rebound.example:80";
  CHECK(!is_opened_by_hand(request, 80));
  request.headers.clear();
  CHECK(!is_opened_by_hand(request, 80));
  request.headers = {{"Host", "127.0.0.1:80"}};
  request.target = "/favicon.ico";
  CHECK(!is_opened_by_hand(request, 80));
  request.target = "/";
  request.method = "POST";
  CHECK(!is_opened_by_hand(request, 80));
}

}  // namespace
}  // namespace muster::cli
