#include "machine/find_interpreter.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/remove_tree.h"
#include "loop/testing.h"

namespace muster::machine {
namespace {

using platform::Interpreter;

TEST_CASE("interpreter: a shim is asked, what is none is refused") {
  const std::string folder = *make_private_folder("/tmp", "muster-python-");
  const std::string answer = R"([false, {}, "/real/bin/python3"])";
  REQUIRE(write_file(folder + "/python3", "#!/bin/sh\necho '" + answer + "'\n", 0755));
  REQUIRE(write_file(folder + "/broken", "#!/bin/sh\necho no >&2; exit 1\n", 0755));
  loop::Loop loop;
  supervise::Programs programs(loop);
  const auto story = [&]() -> loop::Task<> {
    const Env env{{"PATH", folder + ":/usr/bin:/bin"}};
    const Result<Interpreter> shim = co_await find_interpreter(programs, "python3", env, "/");
    REQUIRE(shim);
    CHECK(shim->program == "/real/bin/python3");
    const Result<Interpreter> broken = co_await find_interpreter(programs, "broken", env, "/");
    CHECK(broken.error().text == "broken: is no working Python 3: no");
    const Result<Interpreter> none = co_await find_interpreter(programs, "python9", env, "/");
    CHECK(none.error().code == Errc::not_found);
  };
  loop::run_task(loop, story());
  static_cast<void>(remove_tree(folder));
}

}  // namespace
}  // namespace muster::machine
