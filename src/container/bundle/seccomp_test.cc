#include "container/bundle/seccomp.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>

namespace muster::container {
namespace {

using Call = std::array<std::uint64_t, 4>;

bool matches(const Json& condition, const Call& call) {
  REQUIRE(condition["op"] == "SCMP_CMP_MASKED_EQ");
  const std::uint64_t given = call.at(condition["index"].get<std::size_t>());
  return (given & condition["value"].get<std::uint64_t>()) ==
         condition["valueTwo"].get<std::uint64_t>();
}

/// What the profile does with a call: 0 for allowed, else its errno. Rules must not disagree, for
/// which of them would win is the library's affair.
int ruling(const Json& profile, const std::string& name, const Call& call) {
  std::set<int> rulings;
  for (const Json& rule : profile["syscalls"]) {
    bool applies =
        std::find(rule["names"].begin(), rule["names"].end(), name) != rule["names"].end();
    if (applies && rule.contains("args"))
      for (const Json& condition : rule["args"]) applies = applies && matches(condition, call);
    if (applies)
      rulings.insert(rule["action"] == "SCMP_ACT_ALLOW" ? 0 : rule["errnoRet"].get<int>());
  }
  REQUIRE(rulings.size() <= 1);
  return rulings.empty() ? profile["defaultErrnoRet"].get<int>() : *rulings.begin();
}

const std::array<std::uint64_t, 5> high_halves{0, 1, 0x80000000, 0xFFFFFFFF, 0x28};

TEST_CASE("seccomp: only four families of sockets, whatever the high half contains") {
  const Json profile = seccomp_profile();
  for (const std::uint64_t high : high_halves)
    for (std::uint64_t family = 0; family < 300; ++family) {
      CAPTURE(high);
      CAPTURE(family);
      const bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6;
      const bool netlink = family == AF_NETLINK;
      const std::uint64_t given = high << 32 | family;
      CHECK(ruling(profile, "socket", {given, SOCK_STREAM | SOCK_CLOEXEC, 0}) ==
            (known     ? 0
             : netlink ? ENOSYS
                       : EAFNOSUPPORT));
      CHECK(ruling(profile, "socket", {given, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}) ==
            (known || netlink ? 0 : EAFNOSUPPORT));
      CHECK(ruling(profile, "socketpair", {given, SOCK_STREAM, 0}) ==
            (family == AF_UNIX ? 0 : EAFNOSUPPORT));
    }
  for (int bit = 5; bit < 32; ++bit)  // An allowed family with one more bit is another.
    for (const int family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
      const std::uint64_t other = static_cast<std::uint64_t>(family) | std::uint64_t{1} << bit;
      CHECK(ruling(profile, "socket", {other, SOCK_RAW, 0}) == EAFNOSUPPORT);
    }
}

TEST_CASE("seccomp: types and protocols that lead to other families are not there") {
  const Json profile = seccomp_profile();
  for (const std::uint64_t high : high_halves) {
    const auto given = [&](std::uint64_t low) { return high << 32 | low; };
    const std::uint64_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW}) {
      const std::uint64_t kind = static_cast<std::uint64_t>(type) | flags;
      CHECK(ruling(profile, "socket", {given(AF_INET), given(kind), given(0)}) == 0);
    }
    for (const int type :
         {int{SOCK_PACKET}, int{SOCK_RDM}, int{SOCK_DCCP}, int{SOCK_SEQPACKET}, 0, 15}) {
      const std::uint64_t kind = static_cast<std::uint64_t>(type) | flags;
      CHECK(ruling(profile, "socket", {given(AF_INET), given(kind), given(0)}) == ENOSYS);
      CHECK(ruling(profile, "socket", {given(AF_INET6), given(kind), given(0)}) == ENOSYS);
    }
    CHECK(ruling(profile, "socket", {given(AF_UNIX), given(SOCK_SEQPACKET), 0}) == 0);
    for (std::uint64_t protocol = 1; protocol < 64; ++protocol)
      CHECK(ruling(profile, "socket", {given(AF_NETLINK), SOCK_RAW, given(protocol)}) ==
            EPROTONOSUPPORT);
  }
}

TEST_CASE("seccomp: no flag of clone creates a namespace, whatever other flags are set") {
  const Json profile = seccomp_profile();
  const std::uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  for (const std::uint64_t high : high_halves) {
    CHECK(ruling(profile, "clone", {high << 32 | thread, 0, 0}) == 0);
    for (const int flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER,
                           CLONE_NEWPID, CLONE_NEWNET}) {
      const std::uint64_t given = high << 32 | static_cast<std::uint32_t>(flag);
      CHECK(ruling(profile, "clone", {given, 0, 0}) == EPERM);
      CHECK(ruling(profile, "clone", {given | thread, 0, 0}) == EPERM);
    }
  }
  CHECK(ruling(profile, "clone", {CLONE_NEWNS | CLONE_NEWUSER, 0, 0}) == EPERM);
}

TEST_CASE("seccomp: a personality is one of six by the half that the kernel takes") {
  const Json profile = seccomp_profile();
  CHECK(ruling(profile, "personality", {0xFFFFFFFF, 0, 0}) == 0);
  CHECK(ruling(profile, "personality", {~std::uint64_t{0}, 0, 0}) == 0);
  for (const std::uint64_t high : high_halves) {
    CHECK(ruling(profile, "personality", {high << 32 | 0x0400000, 0, 0}) ==
          ENOSYS);  // Read: execute.
    CHECK(ruling(profile, "personality", {high << 32 | 0x40000, 0, 0}) == 0);
  }
}

TEST_CASE("seccomp: a name is in one list, and every comparison is masked") {
  const Json profile = seccomp_profile();
  std::set<std::string> whole, looked_at;
  for (const Json& rule : profile["syscalls"])
    for (const std::string name : rule["names"]) {
      if (rule.contains("args")) {
        looked_at.insert(name);
        for (const Json& condition : rule["args"]) CHECK(condition["op"] == "SCMP_CMP_MASKED_EQ");
      } else {
        CHECK(whole.insert(name).second);
      }
    }
  for (const std::string& name : looked_at) {
    CAPTURE(name);
    CHECK(!whole.contains(name));  // A rule without conditions would stand for all.
  }
}

TEST_CASE("seccomp: no file gets a set-id bit, whatever bits are set above it") {
  const Json strict = seccomp_profile(false);
  const Json usual = seccomp_profile();
  constexpr std::uint64_t create = O_CREAT | O_WRONLY, unnamed = O_TMPFILE | O_RDWR;
  for (const std::uint64_t high : high_halves)
    for (const std::uint64_t mode : {0u, 0644u, 01777u, 02755u, 04755u, 06000u, 0104711u}) {
      const std::uint64_t given = high << 32 | mode;
      CAPTURE(given);
      const int wanted = (mode & 06000) != 0 ? EPERM : 0;
      for (const char* call : {"chmod", "fchmod", "creat", "mknod"})
        CHECK(ruling(strict, call, {0, given, 0}) == wanted);
      for (const char* call : {"fchmodat", "mknodat"})
        CHECK(ruling(strict, call, {0, 0, given}) == wanted);
      for (const std::uint64_t flags : {create, unnamed, std::uint64_t{O_RDONLY}}) {
        const int opened = flags == O_RDONLY ? 0 : wanted;
        CHECK(ruling(strict, "open", {0, flags, given}) == opened);
        CHECK(ruling(strict, "openat", {0, 0, flags, given}) == opened);
      }
      for (const char* call : {"chmod", "openat", "openat2"})
        CHECK(ruling(usual, call, {0, given, given, given}) == 0);
    }
  for (const char* call : {"openat2", "fchmodat2"})
    CHECK(ruling(strict, call, {0, 0, 0}) == ENOSYS);
}

}  // namespace
}  // namespace muster::container
