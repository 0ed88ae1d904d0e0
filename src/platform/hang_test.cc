#include "platform/hang.h"

#include <doctest/doctest.h>

#include "base/testing.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;
using job::HostStacks;
using Found = HangWatch::Finding;

/// Four ranks on two hosts that have used so much until now; rank 2 waits, all others spin.
std::vector<HostStacks> hosts(std::int64_t cpu_ms) {
  std::vector<HostStacks> hosts(2);
  for (int rank = 0; rank < 4; ++rank) {
    HostStacks& host = hosts[static_cast<std::size_t>(rank / 2)];
    host.host = rank < 2 ? "algo-1" : "algo-2";
    host.net_bytes = 1000;
    job::ProcessStacks process;
    process.pid = 10 + rank;
    process.rank = rank;
    process.cpu_ms = rank == 2 ? 5 : cpu_ms;
    const std::string call = rank == 2 ? "read" : "barrier";
    process.threads = {{.name = "MainThread", .runs = rank != 2, .calls = {{call, "a.py", 1}}}};
    host.processes.push_back(process);
  }
  return hosts;
}

const TimePoint start{1000s};

}  // namespace

TEST_CASE("hang: found after the time that nothing may happen") {
  HangWatch watch(20s);
  CHECK(!watch.next_look());  // No host runs yet.
  watch.active(start);
  TimePoint now = start;
  for (int look = 1; look <= 4; ++look) {
    REQUIRE(watch.next_look());
    CHECK(*watch.next_look() == now + 5s);
    now = *watch.next_look();
    CHECK(watch.look(hosts(1000 * look), now) == (look == 4 ? Found::hangs : Found::nothing));
  }
  CHECK(now == start + 20s);
  CHECK(watch.hangs());
  CHECK(watch.since() == start);
  CHECK(*watch.next_look() == now + 5s);  // The job may go on.
  CHECK(watch.look(hosts(9000), now + 5s) == Found::nothing);
  CHECK(watch.hangs());
  CHECK(hang_text(hosts(0), 20s) ==
        "the job hangs: no output and no progress for 20 s; stuck in a different place than most: "
        "rank 2");
  std::vector<HostStacks> waits = hosts(0);
  waits[1].processes[1].threads[0].calls = {{"cuStreamSynchronize", "/lib/libcuda.so.1"}};
  CHECK(hang_text(waits, 20s) ==
        "the job hangs: no output and no progress for 20 s; rank 3 waits for the GPU; whether in a "
        "collective operation or in another kernel is unknown");
  for (std::size_t rank = 0; rank < 3; ++rank)
    waits[rank / 2].processes[rank % 2].threads[0] = waits[1].processes[1].threads[0];
  waits[1].processes[1] = hosts(0)[1].processes[1];
  waits[0].nccl.collectives = job::NcclReport::Collectives::open;
  CHECK(hang_text(waits, 600s) ==
        "the job hangs: no output and no progress for 600 s; stuck in a different place than most: "
        "rank 3; ranks 0-2 wait for the GPU, in a collective operation that not all ranks have "
        "started");
  const job::Verdict verdict = hang_verdict(hosts(0), "it hangs");
  CHECK(verdict.host == "algo-2");
  CHECK(verdict.rank == 2);
  CHECK(verdict.outcome == job::Outcome::failed("it hangs"));
}

TEST_CASE("hang: a line restarts the count, also one that arrives during a look") {
  HangWatch watch(20s);
  watch.active(start);
  for (int look = 1; look <= 3; ++look)
    CHECK(watch.look(hosts(1000 * look), start + 5s * look) == Found::nothing);
  watch.active(start + 19s);
  CHECK(*watch.next_look() == start + 24s);
  for (int look = 1; look <= 3; ++look)
    CHECK(watch.look(hosts(5000 + 1000 * look), start + 19s + 5s * look) == Found::nothing);
  CHECK(watch.look(hosts(9000), start + 39s) == Found::hangs);
}

TEST_CASE("hang: the time of a hang that was not found ends the process") {
  HangWatch watch(20s);
  watch.active(start);
  CHECK(aborts([&] { static_cast<void>(watch.since()); }));
}

TEST_CASE("hang: an event at an earlier time than the last ends the process") {
  HangWatch watch(20s);
  watch.active(start);
  CHECK(aborts([&] { watch.active(start - 1ms); }));
  CHECK(aborts([&] { static_cast<void>(watch.look(hosts(1), start - 1ms)); }));
}

TEST_CASE("hang: progress between two looks postpones it") {
  HangWatch watch(20s);
  watch.active(start);
  for (int look = 1; look <= 40; ++look) {
    std::vector<HostStacks> seen = hosts(1000 * look);
    seen[0].processes[0].io_bytes = look / 3 * 100'000;
    CHECK(watch.look(std::move(seen), start + 5s * look) == Found::nothing);
  }
}

namespace {

/// One that was found to hang at start + 20 s, since its start.
HangWatch hanging() {
  HangWatch watch(20s);
  watch.active(start);
  for (int look = 1; look <= 4; ++look)
    static_cast<void>(watch.look(hosts(1000 * look), start + 5s * look));
  REQUIRE(watch.hangs());
  return watch;
}

}  // namespace

TEST_CASE("hang: any line takes the mark away, and it may hang again") {
  HangWatch watch = hanging();
  CHECK(watch.active(start + 22s));
  CHECK(!watch.hangs());
  CHECK(!watch.active(start + 23s));
  CHECK(*watch.next_look() == start + 28s);
  for (int look = 1; look <= 3; ++look)
    CHECK(watch.look(hosts(5000 + 1000 * look), start + 23s + 5s * look) == Found::nothing);
  CHECK(watch.look(hosts(9000), start + 43s) == Found::hangs);
  CHECK(watch.since() == start + 23s);
}

TEST_CASE("hang: progress takes the mark away, hosts that cannot be looked at do not") {
  HangWatch watch = hanging();
  std::vector<HostStacks> unseen = hosts(9000);
  unseen[1].trouble = "timeout";
  CHECK(watch.look(unseen, start + 25s) == Found::nothing);
  CHECK(watch.hangs());
  CHECK(*watch.next_look() == start + 30s);
  std::vector<HostStacks> read = hosts(9000);
  read[0].processes[0].io_bytes = 1 << 20;
  CHECK(watch.look(read, start + 30s) == Found::goes_on);
  CHECK(!watch.hangs());
  CHECK(!watch.active(start + 31s));
}

TEST_CASE("hang: a job that said that it will be quiet is not looked at") {
  HangWatch watch(20s);
  watch.active(start);
  watch.quiet_until(start + 600s);
  CHECK(*watch.next_look() == start + 605s);
  CHECK(watch.look(hosts(1), start + 300s) == Found::nothing);
  HangWatch never(0s);
  never.active(start);
  CHECK(!never.next_look());
}

TEST_CASE("hang: what counts as progress") {
  const auto before = hosts(1000);
  CHECK(stood_still(before, hosts(6000), 5s));
  CHECK(!stood_still({}, {}, 5s));
  const auto differs = [&](auto change) {
    std::vector<HostStacks> after = hosts(6000);
    change(after);
    return !stood_still(before, after, 5s);
  };
  CHECK(differs([](auto& after) { after[1].processes[1].threads[0].calls[0].function = "go"; }));
  CHECK(differs([](auto& after) { after[1].processes[1].moves = true; }));
  CHECK(differs([](auto& after) { after[0].processes[0].io_bytes = 1 << 20; }));
  CHECK(differs([](auto& after) { after[0].processes[0].faults = 1000; }));
  CHECK(differs([](auto& after) { after[1].processes[0].io_bytes = 1 << 20; }));  // Rank 2 waits.
  CHECK(differs([](auto& after) { after[1].processes.pop_back(); }));
  CHECK(differs([](auto& after) { after[1].processes[0].started = 7; }));
  CHECK(differs([](auto& after) { after[1].net_bytes = 1 << 20; }));
  CHECK(differs([](auto& after) { after[1].trouble = "timeout"; }));
  CHECK(differs([](auto& after) { after[0].processes[0].threads.clear(); }));
  CHECK(!differs([](auto& after) { after[1].processes[0].threads.clear(); }));  // Waits: no need.
}

TEST_CASE("hang: a launcher's processes do not count, unless there are no ranks") {
  auto before = hosts(1000);
  auto after = hosts(6000);
  for (auto* each : {&before, &after}) {
    job::ProcessStacks launcher;
    launcher.pid = 5;
    launcher.cpu_ms = each == &after ? 5000 : 0;
    (*each)[0].processes.push_back(launcher);
  }
  CHECK(stood_still(before, after, 5s));
  for (auto* each : {&before, &after})
    for (HostStacks& host : *each)
      for (job::ProcessStacks& process : host.processes) process.rank = -1;
  CHECK(!stood_still(before, after, 5s));
}

TEST_CASE("hang: the line that says how long a program will be silent") {
  CHECK(quiet_from("muster quiet 600", 0s) == 600s);
  CHECK(quiet_from("muster quiet 0 ", 0s) == 0s);
  // A server that was started again reads what was written long ago.
  CHECK(quiet_from("muster quiet 600", 450s) == 150s);
  CHECK(quiet_from("muster quiet 600", 3600s) == 0s);
  for (const char* line : {"", "muster quiet", "muster quiet x", "muster quiet -1", "quiet 5",
                           " muster quiet 5", "muster quiet 99999999999"})
    CHECK_MESSAGE(!quiet_from(line, 0s), line);
}

}  // namespace muster::platform
