#include "job/outcome/steps.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

TEST_CASE("steps: the last text among states is the one that counts") {
  CHECK(last_step("1%\r\n2%\r\n") == "2%");
  CHECK(last_step("1%\r\n\r\n\n") == "1%");
  CHECK(last_step("1%").size() == 2);
  CHECK(last_step("\r\n").empty());
  CHECK(last_step("").empty());
}

TEST_CASE("steps: one a second is shown, and the last is kept until it is asked for") {
  Steps steps;
  CHECK(steps.take("1%", ms(5000)) == "1%");
  CHECK(!steps.take("2%", ms(5100)));
  CHECK(!steps.take("3%", ms(5999)));
  CHECK(steps.held_bytes() == 2);
  CHECK(steps.take("4%", ms(6000)) == "4%");
  CHECK(steps.take_held().empty());
  CHECK(!steps.take("5%", ms(6500)));
  CHECK(steps.take_held() == "5%");
  CHECK(steps.take_held().empty());
  CHECK(steps.take("6%", ms(100)) == "6%");  // A clock that was set back hides nothing.
}

TEST_CASE("steps: a line too long for a progress bar is shown") {
  Steps steps;
  REQUIRE(steps.take("1%", ms(0)));
  const std::string text(Steps::text_bytes_max + 1, 'x');
  CHECK(steps.take(text, ms(1)) == text);
  CHECK(!steps.take(text.substr(1), ms(2)));
}

}  // namespace
}  // namespace muster::job
