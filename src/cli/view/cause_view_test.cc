#include "cli/view/cause_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/process/local_time.h"

namespace muster::cli {
namespace {

TEST_CASE("cause view: the time, the consequences, and what to do") {
  use_utc();
  const Json cause{
      {"host", "algo-2"}, {"time_ms", 1769860800123}, {"after_ms", 490},     {"doing", "running"},
      {"victims", 3},     {"within_ms", 84},          {"advice", "eat less"}};
  CHECK(cause_lines(cause) ==
        "  when: 2026-01-31 12:00:00 +00:00, 0.49 s after algo-2's start, while running\n"
        "  then: 3 other ranks ended because of it, within 0.08 s\n"
        "  hint: eat less\n");
}

TEST_CASE("cause view: unknown details are left out, and invalid ones do no harm") {
  CHECK(cause_lines(Json::object()).empty());
  CHECK(cause_lines(Json("text")).empty());
  CHECK(cause_lines(Json{{"victims", 1}, {"host", 7}, {"time_ms", "x"}}) ==
        "  then: 1 other rank ended because of it\n");
  CHECK(cause_lines(Json{{"advice", "a\x1b[2Jb\nc"}}).find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace muster::cli
