#include "os/supervise/oom.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/fd.h"

namespace muster::supervise {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/oom-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path + "/" + name).parent_path());
    REQUIRE(write_file(path + "/" + name, text));
  }
  std::optional<std::uint64_t> kills() const { return oom_kills(path + "/self", path + "/fs"); }
  std::string path;
};

TEST_CASE("oom: the counter of the own cgroup, in both versions") {
  const Folder folder;
  CHECK(!folder.kills());
  folder.write("self", "0::/a/b\n");
  CHECK(!folder.kills());
  folder.write("fs/memory.events", "low 0\noom 3\noom_kill 7\n");
  CHECK(folder.kills() == 7u);  // A container that sees only its own group.
  folder.write("fs/a/b/memory.events", "low 0\noom 2\noom_kill 1\noom_group_kill 0\n");
  CHECK(folder.kills() == 1u);
  folder.write("self", "12:cpu,cpuacct:/x\n4:memory:/job\n0::/\n");
  folder.write("fs/memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  CHECK(folder.kills() == 5u);
}

TEST_CASE("oom: a counter with an invalid value is ignored") {
  const Folder folder;
  folder.write("self", "nonsense\n0:\n0::/\n");
  for (const char* text : {"", "oom_kill", "oom_kill x", "oom_kill -1", "oom_kill 1 2", "oom 4"}) {
    CAPTURE(text);
    folder.write("fs/memory.events", text);
    CHECK(!folder.kills());
  }
}

TEST_CASE("oom: nothing has struck right after the start") {
  CHECK(!OomWatch().struck());
  CHECK(!OomWatch().explains(job::Outcome::signaled(9)));
}

}  // namespace
}  // namespace muster::supervise
