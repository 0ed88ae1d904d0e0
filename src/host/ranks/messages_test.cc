#include "host/ranks/messages.h"

#include <doctest/doctest.h>

namespace muster::ranks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("messages: each side parses the other's") {
  CHECK(signal_from(signal_text(2, seconds(3))).signal == 2);
  CHECK(signal_from(signal_text(2, seconds(3))).grace == seconds(3));
  CHECK(grace_from(grace_text(milliseconds(1500))) == milliseconds(1500));
  CHECK(exec_from(exec_text({7, "orted 'a b'"}))->text == "orted 'a b'");
  const ExecEnd end = *exec_end_from(exec_end_text({7, job::Outcome::signaled(9)}));
  CHECK(end.id == 7);
  CHECK(end.outcome == job::Outcome::signaled(9));
}

TEST_CASE("messages: broken payloads are refused, a broken signal is a plain stop") {
  for (const char* bad : {"", "[]", "{", "{\"text\":[]}", "7"}) {
    CAPTURE(bad);
    CHECK(!exec_from(bad));
    CHECK(!exec_end_from(bad));
    CHECK(signal_from(bad).signal == 15);
    CHECK(signal_from(bad).grace == Duration());
  }
  CHECK(signal_from("{\"signal\":9999}").signal == 15);
  CHECK(!verdict_from_text("[]"));
}

TEST_CASE("messages: a peer's grace has bounds") {
  const Duration most = std::chrono::hours(24 * 30);
  CHECK(signal_from(R"({"signal": 15, "grace_ms": 9223372036854775807})").grace == most);
  CHECK(grace_from(R"({"grace_ms": 9223372036854775807})") == most);
  CHECK(grace_from(R"({"grace_ms": -9223372036854775807})") == Duration());
}

}  // namespace
}  // namespace muster::ranks
