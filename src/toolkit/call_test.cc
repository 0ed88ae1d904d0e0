#include "toolkit/call.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::toolkit;

namespace {

Call a_call() {
  Call call;
  call.name = "mpirun train.py";
  call.digest = "entry point train.py";
  call.hosts = {"algo-1", "algo-2"};
  call.rank.command = {
      {"python3", "a b\n", ""}, {{"NAME", "v=1\xff"}, {"EMPTY", ""}}, "/opt/ml/code"};
  call.rank.kept = {"NAME"};
  call.by_ssh = true;
  call.launcher = Command{{"mpirun", "-np", "4"}, {{"PATH", "/bin"}}, "/"};
  return call;
}

}  // namespace

TEST_CASE("call: what was packed is unpacked byte for byte") {
  const Call call = a_call();
  const Result<Call> got = unpack_call(pack(call));
  REQUIRE(got);
  CHECK(got->name == call.name);
  CHECK(got->digest == call.digest);
  CHECK(got->hosts == call.hosts);
  CHECK(got->rank.command.argv == call.rank.command.argv);
  CHECK(got->rank.command.env == call.rank.command.env);
  CHECK(got->rank.command.cwd == call.rank.command.cwd);
  CHECK(got->rank.kept == call.rank.kept);
  CHECK(got->by_ssh);
  REQUIRE(got->launcher);
  CHECK(got->launcher->argv == call.launcher->argv);
  CHECK(got->launcher->env == call.launcher->env);
}

TEST_CASE("call: a payload that is cut anywhere is refused") {
  const std::string whole = pack(a_call());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(unpack_call(std::string_view(whole).substr(0, size)));
  }
}

TEST_CASE("call: nonsense is refused") {
  const auto packed = [](std::initializer_list<const char*> texts) {
    std::string payload;
    for (const char* text : texts) payload.append(text).push_back('\0');
    return payload;
  };
  const std::string cases[] = {
      "",
      packed({"name", "digest", "-1"}),
      packed({"name", "digest", "99999999999999999999"}),
      packed({"name", "digest", "0", "0", "0", "", "0", "0", "0"}),  // No host, no program.
      packed({"name", "digest", "1", "algo-1", "0", "0", "", "0", "0", "0"}),  // No program.
      packed({"name", "digest", "1", "algo-1", "1", "a", "1", "b", "", "0", "0",
              "0"}),  // "b" is no NAME=.
  };
  for (const std::string& payload : cases) CHECK_FALSE(unpack_call(payload));
  CHECK_FALSE(host_call_from("[]"));
  CHECK_FALSE(host_call_from(R"({"name": 1, "digest": ""})"));
  CHECK(host_call_from(host_call_text({"mpirun", "d"}))->name == "mpirun");
}
