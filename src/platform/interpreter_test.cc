#include "platform/interpreter.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

TEST_CASE("interpreter: its own answer counts, and places inside others are left out") {
  const Result<Interpreter> got = interpreter_from(
      R"([true, {"python": "3.11.2", "torch": ""}, "/w/venv/bin/python3", "/w/venv", "/w/venv",)"
      R"( "/usr", "/usr", "/usr/bin"])"
      "\n");
  REQUIRE(got);
  CHECK(got->program == "/w/venv/bin/python3");
  CHECK(got->has_packages);
  CHECK(got->versions == std::map<std::string, std::string>{{"python", "3.11.2"}, {"torch", ""}});
  CHECK(!interpreter_from(R"([false, {}, "/usr/bin/python3"])")->has_packages);
  CHECK(got->places == std::vector<std::string>{"/usr", "/w/venv"});
  CHECK(path_with(*got, "/usr/bin:/w/venv/bin:/bin") == "/w/venv/bin:/usr/bin:/bin");
  for (const char* bad : {"", "3", "[]", "[false]", "[false, {}]", "[false, {}, \"python3\"]",
                          "[false, \"/usr/bin/python3\", \"/usr\"]", "[false, {\"a\": 1}, \"/p\"]",
                          "[\"/usr/bin/python3\", \"/usr\"]", "[true, {}, 1]", "Python 2.7"}) {
    CAPTURE(bad);
    CHECK(!interpreter_from(bad));
  }
}

TEST_CASE("interpreter: the packages that sm carries are last on PYTHONPATH") {
  Env environment;
  add_packages(environment);
  CHECK(environment["PYTHONPATH"] == "/run/muster/python.zip");
  environment["PYTHONPATH"] = "/mine";
  add_packages(environment);
  CHECK(environment["PYTHONPATH"] == "/mine:/run/muster/python.zip");
}

TEST_CASE("interpreter: one that lies in the root folder needs that folder, and no empty path") {
  const Result<Interpreter> got = interpreter_from(R"([false, {}, "/python3", "/usr/lib"])");
  REQUIRE(got);
  CHECK(*got == Interpreter{"/python3", {"/"}, false, {}});
  CHECK(path_with(*got, "/bin:/") == "/:/bin");
}

}  // namespace
}  // namespace muster::platform
