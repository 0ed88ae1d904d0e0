// Hosts with a way outside, on a machine of the test's own: network and /run/muster are its.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>

#include <nlohmann/json.hpp>

#include "base/process/user_namespace.h"
#include "container/host_network/link.h"
#include "machine/steward/test_job.h"

namespace muster::steward {
namespace {

/// The calling process in namespaces of its own, with an uplink and a default route, until this
/// goes.
class OwnMachine {
 public:
  OwnMachine()
      : network_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)),
        mounts_(::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC)) {
    REQUIRE(::unshare(CLONE_NEWNET) == 0);
    REQUIRE(enter_private_mounts());
    REQUIRE(make_folders("/run/muster"));
    REQUIRE(::mount("muster", "/run/muster", "tmpfs", 0, nullptr) == 0);
    const Fd here(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    REQUIRE(container::make_cable("up0", "up1", here.get()));
    REQUIRE(container::set_address(socket.get(), "up0", "192.0.2.2", 24));
    for (const char* name : {"lo", "up0", "up1"}) REQUIRE(container::set_up(socket.get(), name));
    REQUIRE(container::add_route(socket.get(), "0.0.0.0", 0, "192.0.2.1"));
  }
  OwnMachine(const OwnMachine&) = delete;
  OwnMachine& operator=(const OwnMachine&) = delete;
  ~OwnMachine() {
    CHECK(::setns(network_.get(), CLONE_NEWNET) == 0);
    CHECK(::setns(mounts_.get(), CLONE_NEWNS) == 0);
  }

 private:
  Fd network_, mounts_;
};

bool has_nft() {
  for (const char* path : {"/usr/sbin/nft", "/sbin/nft"})
    if (::access(path, X_OK) == 0) return true;
  MESSAGE("skipped: needs nft");
  return false;
}

std::string uplink_forwarding() {
  return read_file("/proc/sys/net/ipv4/conf/up0/forwarding").value_or("");
}

/// Listens on all addresses of the machine.
Fd service(std::uint16_t& port) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof(any);
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&any), length) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&any), &length) == 0);
  port = ntohs(any.sin_port);
  return listener;
}

TEST_CASE("outside: nothing of the machine answers a host that reaches what is beyond it") {
  SKIP_UNLESS_HOSTS_RUN();
  if (!has_nft()) return;
  const OwnMachine machine;
  std::uint16_t port = 0;
  const Fd listener = service(port);
  TestJob job(1);
  job.spec().network = job::Network::nat;
  job.action("knock");
  job.spec().environment["TEST_PORT"] = std::to_string(port);
  std::string& addresses = job.spec().environment["TEST_ADDRESSES"] = "192.0.2.2 127.0.0.1";
  for (const char* last : {"252", "253", "254", "255"}) addresses += " " + job.subnet() + last;
  CHECK(job.run("algo-1") == 0);
  CHECK(job.lines("algo-1", 0) == "knocked\n");
}

TEST_CASE("outside: the gateway is created with the first host and removed with the last") {
  SKIP_UNLESS_HOSTS_RUN();
  if (!has_nft()) return;
  const OwnMachine machine;
  const std::string before = uplink_forwarding();
  TestJob job(2);
  job.spec().network = job::Network::nat;
  job.action("wait");
  const std::string gateway = job.host_spec("algo-1").bridge + "-gw";
  const pid_t first = job.start("algo-1");
  const pid_t second = job.start("algo-2");
  job.wait_for_line("algo-1", "waiting");
  job.wait_for_line("algo-2", "waiting");
  CHECK(::if_nametoindex(gateway.c_str()) != 0);
  CHECK(uplink_forwarding() == "1\n");
  CHECK(read_file(job.folder("algo-1") + "/bundle/resolv.conf")->find("nameserver 127.0.0.1\n") ==
        0);
  ::kill(first, SIGTERM);
  CHECK(job.wait(first) == 0);
  CHECK(::if_nametoindex(gateway.c_str()) != 0);
  ::kill(second, SIGTERM);
  CHECK(job.wait(second) == 0);
  CHECK(::if_nametoindex(gateway.c_str()) == 0);
  CHECK(uplink_forwarding() == before);
  CHECK(fs::is_empty("/run/muster/gateways"));
  CHECK(!fs::exists("/run/muster/forwarding"));
}

TEST_CASE("outside: a sweep removes a killed steward's gateway, and keeps a living job's") {
  SKIP_UNLESS_HOSTS_RUN();
  if (!has_nft()) return;
  const OwnMachine machine;
  const std::string before = uplink_forwarding();
  TestJob dead(1);
  TestJob living(1);
  for (TestJob* const job : {&dead, &living}) {
    job->spec().network = job::Network::nat;
    job->action("wait");
  }
  const pid_t dead_steward = dead.start("algo-1");
  const pid_t living_steward = living.start("algo-1");
  dead.wait_for_line("algo-1", "waiting");
  living.wait_for_line("algo-1", "waiting");
  ::kill(dead_steward, SIGKILL);
  CHECK(dead.wait(dead_steward) == 137);
  dead.unlock();
  const std::string network = "network " + dead.host_spec("algo-1").bridge;
  const Result<Swept> swept = sweep({dead.state(), false}, test_env());
  REQUIRE(swept);
  CHECK(swept->failed == none);
  CHECK(std::count(swept->removed.begin(), swept->removed.end(), network) == 1);
  CHECK(uplink_forwarding() == "1\n");
  ::kill(living_steward, SIGTERM);
  CHECK(living.wait(living_steward) == 0);
  CHECK(uplink_forwarding() == before);
  CHECK(fs::is_empty("/run/muster/gateways"));
}

TEST_CASE("outside: a machine that leads nowhere runs the host all the same, and says why") {
  SKIP_UNLESS_HOSTS_RUN();
  const OwnMachine machine;
  REQUIRE(container::remove_link("up0"));
  TestJob job(1);
  job.spec().network = job::Network::nat;
  job.action("exit0");
  CHECK(job.run("algo-1") == 0);
  CHECK(job.end("algo-1").outcome.success());
  bool said = false;
  for (const job::Record& record : job.records("algo-1"))
    said = said || record.payload.find("the job has no outside network: ") != std::string::npos;
  CHECK(said);
  CHECK(read_file(job.folder("algo-1") + "/bundle/resolv.conf")->find("nameserver") ==
        std::string::npos);
}

}  // namespace
}  // namespace muster::steward
