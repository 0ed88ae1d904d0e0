#include "host/env/named_hosts.h"

#include <doctest/doctest.h>

#include <map>

namespace muster::env {
namespace {

using Names = std::vector<std::string>;

std::string refusal(const Env& env) {
  const Result<std::optional<NamedHosts>> named = named_hosts(env);
  REQUIRE_FALSE(named);
  CHECK(named.error().code == Errc::invalid_input);
  return named.error().text;
}

NamedHosts named(const Env& env) {
  const Result<std::optional<NamedHosts>> found = named_hosts(env);
  REQUIRE_MESSAGE(found, (found ? "" : found.error().text));
  REQUIRE(found->has_value());
  return **found;
}

Result<std::string> found_among(const Names& hosts, const OwnNames& own,
                                const std::map<std::string, Names>& known = {}) {
  return own_among({hosts, "", "MUSTER_HOSTS"}, own, [&known](const std::string& host) {
    const auto at = known.find(host);
    return at == known.end() ? Names() : at->second;
  });
}

TEST_CASE("a machine without named hosts is alone") {
  CHECK_FALSE(named_hosts({})->has_value());
  CHECK_FALSE(named_hosts({{"MUSTER_HOSTS", ""}, {"JOB_COMPLETION_INDEX", "1"}})->has_value());
  CHECK(refusal({{"MUSTER_HOST", "a"}}).find("MUSTER_HOSTS (--hosts)") != std::string::npos);
}

TEST_CASE("MUSTER_HOSTS names the hosts, MUSTER_HOST the own one") {
  const NamedHosts hosts = named({{"MUSTER_HOSTS", "b,node[1-2]"}, {"MUSTER_HOST", "node2"}});
  CHECK(hosts.hosts == Names{"b", "node1", "node2"});
  CHECK(hosts.own == "node2");
  CHECK(named({{"MUSTER_HOSTS", "a,b"}}).own.empty());
  CHECK(refusal({{"MUSTER_HOSTS", "a,b"}, {"MUSTER_HOST", "c"}}) ==
        "MUSTER_HOST: c is not one of a, b");
  CHECK(refusal({{"MUSTER_HOSTS", "a,b,a"}}) == "MUSTER_HOSTS: host a appears twice");
  CHECK(refusal({{"MUSTER_HOSTS", "n[1"}}).starts_with("MUSTER_HOSTS: "));
  CHECK(refusal({{"MUSTER_HOSTS", "fd00::1,b"}}).find("for an IPv6 address, use a name") !=
        std::string::npos);
}

TEST_CASE("a Kubernetes Job's index is the place among MUSTER_HOSTS") {
  const Env pod = {{"MUSTER_HOSTS", "train-[0-2].train"}, {"JOB_COMPLETION_INDEX", "2"}};
  CHECK(named(pod).own == "train-2.train");
  CHECK(
      refusal({{"MUSTER_HOSTS", "a,b"}, {"JOB_COMPLETION_INDEX", "2"}}) ==
      "JOB_COMPLETION_INDEX: expected an index from 0 to 1 in the list of hosts MUSTER_HOSTS, got "
      "\"2\"");
}

TEST_CASE("a step of srun names its nodes and the place among them") {
  const Env task = {{"SLURM_STEP_NODELIST", "node[1-3]"},
                    {"SLURM_STEP_TASKS_PER_NODE", "1(x3)"},
                    {"SLURM_NODEID", "1"}};
  CHECK(named(task).hosts == Names{"node1", "node2", "node3"});
  CHECK(named(task).own == "node2");
  Env more = task;
  more["SLURM_STEP_TASKS_PER_NODE"] = "2,1(x2)";
  CHECK(refusal(more).find("srun --ntasks-per-node=1") != std::string::npos);
  more = task;
  more["MUSTER_HOSTS"] = "x,y";
  CHECK(named(more).hosts == Names{"x", "y"});
  CHECK_FALSE(named_hosts({{"SLURM_STEP_NODELIST", "node1"}})->has_value());
  // What salloc and sbatch alone set says nothing of what runs on the other nodes.
  CHECK_FALSE(named_hosts({{"SLURM_JOB_NODELIST", "node[1-3]"}})->has_value());
}

TEST_CASE("the own host is found by name, by a name's first label, by address") {
  const OwnNames own = {{"node2", "node2.lab.example"}, {"10.0.0.2", "192.168.0.2"}};
  CHECK(*found_among({"node1", "node2"}, own) == "node2");
  CHECK(*found_among({"node1.lab.example", "node2.lab.example"}, own) == "node2.lab.example");
  CHECK(*found_among({"node1.else", "node2.else"}, own) == "node2.else");
  CHECK(*found_among({"10.0.0.1", "10.0.0.2"}, own) == "10.0.0.2");
  CHECK(*found_among({"a", "b"}, own, {{"a", {"10.0.0.1"}}, {"b", {"10.0.0.2"}}}) == "b");
}

TEST_CASE("zero or several matches are refused with a hint") {
  const OwnNames own = {{"me"}, {"10.0.0.2"}};
  const Result<std::string> none = found_among({"a", "b"}, own);
  REQUIRE_FALSE(none);
  CHECK(none.error().text ==
        "MUSTER_HOSTS: this machine (me, 10.0.0.2) matches none of a, b; choose one with --host");
  const Result<std::string> two =
      found_among({"a", "b"}, own, {{"a", {"10.0.0.2"}}, {"b", {"10.0.0.2"}}});
  REQUIRE_FALSE(two);
  CHECK(two.error().text.find("this machine matches a and b; choose one with --host") !=
        std::string::npos);
  // Two addresses are two hosts, whatever their first numbers are.
  CHECK_FALSE(found_among({"10.1.0.1", "10.2.0.2"}, own));
}

TEST_CASE("named hosts: one with IPv6 addresses alone is named") {
  const NamedHosts named{{"a", "b"}, "a", "MUSTER_HOSTS"};
  const auto check = [&](const std::vector<std::string>& of_b) {
    const Result<void> got = check_addresses(named, [&](const std::string& host) {
      return host == "a" ? std::vector<std::string>{"10.0.0.1"} : of_b;
    });
    return got ? std::string() : got.error().text;
  };
  CHECK(check({"fd00::2", "fd01::2"}) ==
        "MUSTER_HOSTS: b has only IPv6 addresses (fd00::2, fd01::2), but a job's hosts connect to "
        "each other over IPv4");
  CHECK(check({"fd00::2", "10.0.0.2"}).empty());
  CHECK(check({}).empty());
  CHECK(check({"::1"}).empty());  // What some machines call themselves.
}

TEST_CASE("named hosts: the interface in the subnet that all share") {
  const auto own = [](const char* interface, const char* address) {
    return InterfaceAddress{interface, address, true, true, false, 24};
  };
  const std::vector<InterfaceAddress> all = {
      own("ib0", "10.2.0.1"), own("eth0", "10.1.0.1"), {"ib0", "fe80::1", false, true, false, 64}};
  using Others = std::vector<std::vector<std::string>>;
  CHECK(common_interface(all, Others{{"10.2.0.2", "10.9.0.2"}, {"10.2.0.3"}}) == "ib0");
  CHECK(common_interface(all, Others{{"10.2.0.2", "10.1.0.2"}, {"10.1.0.3", "10.2.0.3"}}) ==
        "eth0");
  CHECK(common_interface(all, Others{{"10.2.0.2"}, {"10.1.0.3"}}).empty());
  CHECK(common_interface(all, Others{{"10.2.0.2"}, {}}).empty());
  CHECK(common_interface(all, {}).empty());
}

}  // namespace
}  // namespace muster::env
