#include "local/usage.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "base/fd.h"
#include "base/remove_tree.h"

namespace muster::local {
namespace {

using namespace std::chrono_literals;

TEST_CASE("usage: a host's control group tells it, of either version") {
  using Files = std::map<std::string, std::string>;
  struct {
    const char* name;
    Files files;
    std::optional<Errc> error;
  } const cases[] = {
      {"version 1",
       {{"memory/muster/demo/algo-1/memory.usage_in_bytes", "4096\n"},
        {"cpuacct/muster/demo/algo-1/cpuacct.usage", "7000123\n"},
        {"pids/muster/demo/algo-1/pids.current", "3\n"}},
       {}},
      {"version 2",
       {{"muster/demo/algo-1/memory.current", "4096\n"},
        {"muster/demo/algo-1/cpu.stat", "nr_periods 0\nusage_usec 7000\nuser_usec 1\n"},
        {"muster/demo/algo-1/pids.current", "3\n"}},
       {}},
      {"both",
       {{"unified/muster/demo/algo-1/pids.current", "3\n"},
        {"unified/muster/demo/algo-1/cpu.stat", "usage_usec 7000\n"},
        {"memory/muster/demo/algo-1/memory.usage_in_bytes", "4096\n"}},
       {}},
      {"another host", {{"pids/muster/demo/algo-2/pids.current", "3\n"}}, Errc::closed},
      {"not all is counted", {{"pids/muster/demo/algo-1/pids.current", "3\n"}}, Errc::unsupported},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::string root = *make_private_folder("/tmp", "muster-usage-");
    for (const auto& [path, text] : c.files) {
      REQUIRE(make_folders(root + "/" + path.substr(0, path.rfind('/'))));
      REQUIRE(write_file(root + "/" + path, text));
    }
    const Result<engine::Usage> usage = usage_of("demo", "algo-1", root);
    static_cast<void>(remove_tree(root));
    REQUIRE(usage.has_value() == !c.error);
    if (c.error) CHECK(usage.error().code == *c.error);
    if (c.error) continue;
    CHECK(usage->memory_bytes == 4096);
    CHECK(usage->processor_time == 7000us);
    CHECK(usage->processes == 3);
  }
}

}  // namespace
}  // namespace muster::local
