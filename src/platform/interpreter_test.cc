#include "platform/interpreter.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

TEST_CASE("interpreter: its own word is taken, places inside others left out") {
  const Result<Interpreter> got = interpreter_from(
      R"(["/w/venv/bin/python3", "/w/venv", "/w/venv", "/usr", "/usr", "/usr/bin"])"
      "\n");
  REQUIRE(got);
  CHECK(got->program == "/w/venv/bin/python3");
  CHECK(got->places == std::vector<std::string>{"/usr", "/w/venv"});
  CHECK(path_with(*got, "/usr/bin:/w/venv/bin:/bin") == "/w/venv/bin:/usr/bin:/bin");
  for (const char* bad : {"", "3", "[]", "[\"python3\"]", "[1]", "Python 2.7"}) {
    CAPTURE(bad);
    CHECK(!interpreter_from(bad));
  }
}

}  // namespace
}  // namespace muster::platform
