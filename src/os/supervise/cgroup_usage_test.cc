#include "os/supervise/cgroup_usage.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <map>
#include <optional>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::supervise {
namespace {

using namespace std::chrono_literals;

TEST_CASE("usage: read from a host's control group, of either version") {
  using Files = std::map<std::string, std::string>;
  struct {
    const char* name;
    Files files;
    std::optional<Errc> error;
  } const cases[] = {
      {"version 1",
       {{"memory/muster/demo/algo-1/memory.usage_in_bytes", "9096\n"},
        {"memory/muster/demo/algo-1/memory.stat", "inactive_file 7\ntotal_inactive_file 5000\n"},
        {"cpuacct/muster/demo/algo-1/cpuacct.usage", "7000123\n"},
        {"blkio/muster/demo/algo-1/blkio.throttle.io_service_bytes", "8:0 Read 1\n"},
        {"blkio/muster/demo/algo-1/blkio.throttle.io_service_bytes_recursive",
         "8:0 Read 5\n8:0 Write 6\n8:0 Total 11\n8:16 Read 5\nTotal 16\n"},
        {"pids/muster/demo/algo-1/pids.current", "3\n"}},
       {}},
      {"version 2",
       {{"muster/demo/algo-1/memory.current", "4196\n"},
        {"muster/demo/algo-1/memory.stat", "anon 4096\ninactive_file 100\nactive_file 3\n"},
        {"muster/demo/algo-1/cpu.stat", "nr_periods 0\nusage_usec 7000\nuser_usec 1\n"},
        {"muster/demo/algo-1/io.stat", "8:0 rbytes=4 wbytes=6 rios=1 wios=1\n8:16 rbytes=6\n"},
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
  const job::Flow some{10, 6};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::string root = *make_private_folder("/tmp", "muster-usage-");
    for (const auto& [path, text] : c.files) {
      REQUIRE(make_folders(root + "/" + path.substr(0, path.rfind('/'))));
      REQUIRE(write_file(root + "/" + path, text));
    }
    const Result<job::Usage> usage = usage_of("demo", "algo-1", root);
    static_cast<void>(remove_tree(root));
    REQUIRE(usage.has_value() == !c.error);
    if (c.error) CHECK(usage.error().code == *c.error);
    if (c.error) continue;
    CHECK(usage->memory_bytes == 4096);
    CHECK(usage->processor_time == 7000us);
    CHECK(usage->processes == 3);
    const bool has_disk = std::string_view(c.name) != "both";
    CHECK(usage->disk == (has_disk ? some : job::Flow{}));
    CHECK(usage->network == job::Flow{});
  }
}

TEST_CASE("usage: the network is that of the host's first process, unless it is the machine's") {
  const std::string root = *make_private_folder("/tmp", "muster-usage-");
  const auto put = [&root](const std::string& path, const std::string& text) {
    REQUIRE(make_folders(root + "/" + path.substr(0, path.rfind('/'))));
    REQUIRE(write_file(root + "/" + path, text));
  };
  put("cgroup/muster/demo/algo-1/memory.current", "1");
  put("cgroup/muster/demo/algo-1/cpu.stat", "usage_usec 1\n");
  put("cgroup/muster/demo/algo-1/pids.current", "3");
  put("cgroup/muster/demo/algo-1/cgroup.procs", "6\n7\n8\n9\n");
  put("proc/self/ns/net", "");
  const auto process = [&put](const std::string& pid, const std::string& pids, int bytes) {
    put("proc/" + pid + "/ns/net", "");
    put("proc/" + pid + "/status", "Name:\tx\nNSpid:\t" + pids + "\n");
    put("proc/" + pid + "/net/dev", " head\n eth0: " + std::to_string(bytes) + " 0 0 0 0 0 0 0 2");
  };
  process("7", "7\t12", 100);
  process("8", "8\t13\t1", 200);  // One that a program of the job's made below itself.
  process("9", "9\t1", 300);
  const auto network = [&root] {
    return usage_of("demo", "algo-1", root + "/cgroup", root + "/proc")->network;
  };
  CHECK(network() == job::Flow{300, 2});
  REQUIRE(::unlink((root + "/proc/9/ns/net").c_str()) == 0);
  REQUIRE(::link((root + "/proc/self/ns/net").c_str(), (root + "/proc/9/ns/net").c_str()) == 0);
  CHECK(network() == job::Flow{});
  static_cast<void>(remove_tree(root));
}

TEST_CASE("usage: counts are summed, and invalid counts are skipped") {
  CHECK(network_from(" face |bytes packets\n lo: 9 0 0 0 0 0 0 0 9 0\n"
                     "eth0:1 0 0 0 0 0 0 0 2 0\n eth1: 3 0 0 0 0 0 0 0 4 0\n") == job::Flow{4, 6});
  CHECK(network_from("") == job::Flow{0, 0});
  CHECK(network_from("eth0: x 0 0") == job::Flow{0, 0});
  CHECK(network_from("lo: 9 0 0 0 0 0 0 0 9\neth0:1 0 0 0 0 0 0 0 2\neth1: 3 0 0 0 0 0 0 0 4\n",
                     "eth1") == job::Flow{3, 4});
  CHECK(disk_from_io_stat("") == job::Flow{0, 0});
  CHECK(disk_from_io_stat("8:0 rbytes= wbytes=x rios=3") == job::Flow{0, 0});
  CHECK(disk_from_blkio("Total 0\n") == job::Flow{0, 0});
}

TEST_CASE("usage: processes tell it where no group counts for them alone") {
  const std::string root = *make_private_folder("/tmp", "muster-usage-");
  const auto put = [&root](const std::string& path, const std::string& text) {
    REQUIRE(make_folders(root + "/" + path.substr(0, path.rfind('/'))));
    REQUIRE(write_file(root + "/" + path, text));
  };
  put("7/stat", "7 (a) 9 (b) S 1 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 5 6 7");
  put("7/statm", "900 30 10 1 0 5 0\n");
  put("7/io", "rchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 0\n");
  put("8/stat", "8 (c) R 7 7 7 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 5 6 7");  // Without io.
  put("8/statm", "nothing to read");
  const Counted counted = counted_of({7, 8, 9}, root);
  static_cast<void>(remove_tree(root));
  CHECK(counted.processes == 2);
  CHECK(counted.memory_bytes == 20 * ::sysconf(_SC_PAGESIZE));
  CHECK(counted.processor_time == 129 * 1'000'000us / ::sysconf(_SC_CLK_TCK));
  CHECK(counted.disk == job::Flow{4096, 512});
}

TEST_CASE("usage: a process's groups stand where their hierarchies are mounted") {
  const std::string root = *make_private_folder("/tmp", "muster-usage-");
  for (const char* name : {"memory", "cpu", "unified"}) REQUIRE(make_folders(root + "/" + name));
  const std::string text =
      "12:pids:/a\n4:memory:/slurm/b:c\n3:cpu,cpuacct:/\n1:name=systemd:/d\n"
      "0::/e\n\nrubbish\n";
  const std::vector<GroupPlace> mixed{
      {root + "/memory", "/slurm/b:c"}, {root + "/cpu", "/"}, {root + "/unified", "/e"}};
  CHECK(group_places(text, root) == mixed);
  REQUIRE(write_file(root + "/cgroup.controllers", ""));
  CHECK(group_places("0::/e\n", root) == std::vector<GroupPlace>{{root, "/e"}});
  REQUIRE(write_file(root + "/cgroup.procs", "3\n12\nx\n"));
  CHECK(processes_of_group(root) == std::vector<pid_t>{3, 12});
  CHECK(processes_of_group(root + "/none").empty());
  static_cast<void>(remove_tree(root));
}

}  // namespace
}  // namespace muster::supervise
