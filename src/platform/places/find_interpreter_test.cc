#include "platform/places/find_interpreter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"

namespace muster::places {
namespace {

using platform::Interpreter;

TEST_CASE("interpreter: a shim is asked, and an invalid one is refused") {
  const std::string folder = *make_private_folder("/tmp", "muster-python-");
  const std::string answer = R"([false, {}, "/real/bin/python3"])";
  REQUIRE(write_file(folder + "/python3", "#!/bin/sh\necho '" + answer + "'\n", 0755));
  REQUIRE(write_file(folder + "/broken", "#!/bin/sh\necho no >&2; exit 1\n", 0755));
  loop::Loop loop;
  supervise::Programs programs(loop);
  const auto story = [&]() -> loop::Task<> {
    const Env env{{"PATH", folder + ":/usr/bin:/bin"}};
    const Result<Interpreter> shim = co_await find_interpreter(programs, "python3", env);
    REQUIRE(shim);
    CHECK(shim->program == "/real/bin/python3");
    const Result<Interpreter> broken = co_await find_interpreter(programs, "broken", env);
    CHECK(broken.error().text == "broken: not a working Python 3: no");
    const Result<Interpreter> none = co_await find_interpreter(programs, "python9", env);
    CHECK(none.error().code == Errc::not_found);
  };
  loop::run_task(loop, story());
  static_cast<void>(remove_tree(folder));
}

TEST_CASE("interpreter: no file of the caller's folder, of PYTHONPATH or a home is run") {
  const std::string folder = *make_private_folder("/tmp", "muster-python-");
  const std::string evil = "open('" + folder + "/ran', 'a').write(__file__)\n";
  const std::string version =
      std::filesystem::canonical("/usr/bin/python3").filename().string().substr(6);
  const std::string site = folder + "/home/.local/lib/python" + version + "/site-packages";
  REQUIRE(make_folders(site));
  REQUIRE(write_file(folder + "/json.py", evil));
  REQUIRE(write_file(site + "/torch.py", evil));
  REQUIRE(write_file(site + "/json.py", evil));
  REQUIRE(write_file(site + "/evil.pth", "import json; " + evil));
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  loop::Loop loop;
  supervise::Programs programs(loop);
  const auto story = [&]() -> loop::Task<> {
    const Env env{{"PATH", "/usr/bin:/bin"}, {"PYTHONPATH", folder}, {"HOME", folder + "/home"}};
    const Result<Interpreter> found = co_await find_interpreter(programs, "/usr/bin/python3", env);
    REQUIRE(found);
    CHECK(std::count(found->places.begin(), found->places.end(), site) == 1);
    CHECK(found->versions.contains("torch"));
  };
  loop::run_task(loop, story());
  std::filesystem::current_path(before);
  CHECK(read_file(folder + "/ran").value_or("") == "");
  static_cast<void>(remove_tree(folder));
}

}  // namespace
}  // namespace muster::places
