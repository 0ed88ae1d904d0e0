#include "machine/steward/card_faults.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/command.h"
#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"

using namespace muster;
using namespace std::chrono_literals;
using steward::CardFaults;

namespace {

const TimePoint start = TimePoint(1h);

/// A log whose reads give a record each, as the kernel's does, of a host with GPU 3 at 0b:00.
struct KernelLog {
  KernelLog() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    writer = Fd(ends[0]);
    faults.emplace(Fd(ends[1]), std::map<std::string, int>{{":0b:00", 3}});
  }
  void says(const std::string& text, TimePoint when) {
    const std::string record = "3,7,8,-;" + text + "\n";
    REQUIRE(::send(writer.get(), record.data(), record.size(), 0) > 0);
    faults->look(when);
  }

  Fd writer;
  std::optional<CardFaults> faults;
};

}  // namespace

TEST_CASE("card faults: a fault shortly before a failure explains it") {
  struct {
    const char* record;
    Duration before;
    std::vector<std::string> lines;
    job::Card card;
  } const cases[] = {
      {"NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=python3",
       29s,
       {"GPU 3: illegal memory access by the program (Xid 31)"},
       job::Card::working},
      {"NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.",
       1s,
       {"GPU 3 fell off the bus (Xid 79): not your code"},
       job::Card::broken},
      {"NVRM: Xid (PCI:0000:0b:00): 94, pid=7",
       1s,
       {"GPU 3 has a memory error that affected only this program (Xid 94): not your code"},
       job::Card::memory_error},
      {"NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.", 31s, {}, job::Card::working},
      {"NVRM: Xid (PCI:0000:0c:00): 79, GPU has fallen off the bus.", 1s, {}, job::Card::working},
  };
  for (const auto& c : cases) {
    CAPTURE(c.record);
    KernelLog log;
    log.says(c.record, start - c.before);
    const CardFaults::Found found = log.faults->explaining(start);
    CHECK(found.lines == c.lines);
    CHECK(found.card == c.card);
  }
}

TEST_CASE("card faults: of many the latest are kept, each line once, and the worst counts") {
  KernelLog log;
  log.says("NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.", start);
  for (int i = 0; i < 20; ++i) log.says("NVRM: Xid (PCI:0000:0b:00): 31, pid=7", start);
  CHECK(log.faults->explaining(start).lines.size() == 2);
  CHECK(log.faults->explaining(start).card == job::Card::broken);
  for (int i = 1000; i < 1100; ++i)
    log.says("NVRM: Xid (PCI:0000:0b:00): " + std::to_string(i) + ", pid=7", start + 1s);
  CHECK(log.faults->explaining(start).lines.size() == 8);
  CHECK(log.faults->explaining(start).card == job::Card::working);
}

TEST_CASE("card faults: a host's GPUs are those of its device files, or a scheduler's") {
  job::HostSpec spec;
  spec.devices.nodes = {{.outside = "/dev/nvidia5"}, {.outside = "/dev/nvidiactl"}};
  CHECK(steward::gpu_numbers_of(spec, {}) == std::vector<int>{5});
  job::HostSpec light;
  light.light = true;
  light.devices.gpus = {"0", "1"};
  CHECK(steward::gpu_numbers_of(light, {}) == std::vector<int>{0, 1});
  CHECK(steward::gpu_numbers_of(light, {{"SLURM_STEP_GPUS", "6,7"}}) == std::vector<int>{6, 7});
  light.devices.gpus = {};
  CHECK(steward::gpu_numbers_of(light, {{"SLURM_STEP_GPUS", "6,7"}}).empty());
}

TEST_CASE("card faults: the journal's lines are read whole, however they arrive") {
  Pipe log = *make_pipe();
  REQUIRE(::fcntl(log.read.get(), F_SETFL, O_NONBLOCK) == 0);
  CardFaults faults(std::move(log.read), {{":0b:00", 3}}, CardFaults::Form::journal);
  const auto says = [&](const std::string& text) {
    REQUIRE(write_all(log.write.get(), text));
    faults.look(start);
    return faults.explaining(start).lines;
  };
  const std::string begin = R"({"PRIORITY":"3","SYSLOG_FACILITY":"0","MESSAGE":"NVRM: Xid )";
  CHECK(says("-- Journal begins --\n" + begin).empty());
  CHECK(says("(PCI:0000:0b:00): 79, GPU has fallen off the bus.\"}").empty());
  CHECK(says("\n{}\n") ==
        std::vector<std::string>{"GPU 3 fell off the bus (Xid 79): not your code"});
  log.write.reset();
  faults.look(start);  // journalctl has ended.
  CHECK(faults.explaining(start).lines.size() == 1);
}
