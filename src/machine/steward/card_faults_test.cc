#include "machine/steward/card_faults.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/command.h"
#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"

using namespace muster;
using namespace std::chrono_literals;
using steward::CardFaults;
using steward::ProcessOwner;

namespace {

const TimePoint start = TimePoint(1h);

/// A log whose reads give a record each, as the kernel's does, of a host with GPUs 3 and 6.
struct KernelLog {
  KernelLog() {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    writer = Fd(ends[0]);
    faults.emplace(Fd(ends[1]), std::map<std::string, int>{{":0b:00", 3}, {":0e:00", 6}},
                   [this](std::int64_t pid) {
                     const auto found = owners.find(pid);
                     return found == owners.end() ? ProcessOwner() : found->second;
                   });
  }
  void says(const std::string& text, TimePoint when) {
    const std::string record = "3,7,8,-;" + text + "\n";
    REQUIRE(::send(writer.get(), record.data(), record.size(), 0) > 0);
    faults->look(when);
  }

  Fd writer;
  std::map<std::int64_t, ProcessOwner> owners;
  std::optional<CardFaults> faults;
};

/// The host's own program failed.
const std::vector<CardFaults::Failure> failure = {{-1, start, {}}};

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
    const CardFaults::Found found = log.faults->explaining(failure);
    CHECK(found.lines == c.lines);
    CHECK(found.card == c.card);
  }
}

TEST_CASE("card faults: a fault explains the rank whose process it names, else one of its card") {
  constexpr ProcessOwner program{ProcessOwner::Kind::host, -1};
  const char* const own = "NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=python3";
  const char* const lost = "NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.";
  struct {
    const char* what;
    const char* record;
    ProcessOwner of_pid_7;
    CardFaults::Failure failure;
    bool explains;
  } const cases[] = {
      {"its process", own, {ProcessOwner::Kind::host, 2}, {2, start, {}}, true},
      {"another rank's process", own, {ProcessOwner::Kind::host, 1}, {2, start, {3}}, false},
      {"a rank's process, and a launcher",
       own,
       {ProcessOwner::Kind::host, 1},
       {-1, start, {}},
       true},
      {"a process without a rank", own, program, {2, start, {}}, true},
      {"a process without a rank, another card", own, program, {2, start, {6}}, false},
      {"a process of the host, no rank failed", own, program, {-1, start, {}}, true},
      {"not of the host", own, {ProcessOwner::Kind::outside}, {2, start, {}}, false},
      {"not of the host, no rank failed",
       own,
       {ProcessOwner::Kind::outside},
       {-1, start, {}},
       false},
      {"an unknown process", own, {}, {2, start, {}}, true},
      {"an unknown process, another card", own, {}, {2, start, {6}}, false},
      {"no process", lost, {}, {2, start, {}}, true},
      {"no process, its card", lost, {}, {2, start, {3, 6}}, true},
      {"no process, another card", lost, {}, {2, start, {6}}, false},
      {"29 s after", own, {ProcessOwner::Kind::host, 2}, {2, start - 29s, {}}, true},
      {"31 s after", own, {ProcessOwner::Kind::host, 2}, {2, start - 31s, {}}, false},
      {"31 s before", own, {ProcessOwner::Kind::host, 2}, {2, start + 31s, {}}, false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.what);
    KernelLog log;
    log.owners[7] = c.of_pid_7;
    log.says(c.record, start);
    log.owners.clear();  // The process has ended.
    const CardFaults::Found found = log.faults->explaining({c.failure});
    CHECK(found.lines.size() == (c.explains ? 1 : 0));
    const bool broken = c.explains && c.record == lost;
    CHECK(found.card == (broken ? job::Card::broken : job::Card::working));
  }
}

TEST_CASE("card faults: of several failures each is explained by its own fault") {
  KernelLog log;
  log.owners = {{7, {ProcessOwner::Kind::host, 0}}, {8, {ProcessOwner::Kind::host, 1}}};
  log.says("NVRM: Xid (PCI:0000:0b:00): 31, pid=7, name=a", start);
  log.says("NVRM: Xid (PCI:0000:0e:00): 13, pid=8, name=b", start);
  CHECK(log.faults->explaining({{0, start, {}}, {1, start, {}}}).lines.size() == 2);
  CHECK(log.faults->explaining({{1, start, {}}}).lines ==
        std::vector<std::string>{"GPU 6: the program's kernel failed (Xid 13)"});
  CHECK(log.faults->explaining({}).lines.empty());
}

TEST_CASE("card faults: what the driver requests for a card outweighs the messages before it") {
  const std::string on_3 = "NVRM: Xid (PCI:0000:0b:00): ";
  const std::string on_6 = "NVRM: Xid (PCI:0000:0e:00): ";
  const std::string to_none =
      "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)";
  const std::string to_reset =
      "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
  struct {
    std::vector<std::string> records;
    job::Card card;
  } const cases[] = {
      {{on_3 + "48, pid=7", on_3 + to_none}, job::Card::memory_error},
      {{on_3 + "79, GPU has fallen off the bus.", on_3 + to_none}, job::Card::memory_error},
      {{on_3 + "31, pid=7", on_3 + to_none}, job::Card::working},
      {{on_3 + "31, pid=7", on_3 + to_reset}, job::Card::broken},
      {{on_3 + to_reset, on_3 + "94, pid=7"}, job::Card::broken},
      {{on_3 + to_reset, on_3 + to_none}, job::Card::memory_error},
      {{on_3 + to_none, on_3 + "48, pid=7"}, job::Card::broken},
      {{on_3 + "48, pid=7", on_6 + to_none}, job::Card::broken},
      {{on_3 + "48, pid=7", on_3 + "154, GPU recovery action changed"}, job::Card::broken},
  };
  for (const auto& c : cases) {
    CAPTURE(c.records.front());
    CAPTURE(c.records.back());
    KernelLog log;
    for (const std::string& record : c.records) log.says(record, start);
    CHECK(log.faults->explaining(failure).card == c.card);
  }
}

TEST_CASE("card faults: of many the latest are kept, each line once, and the worst counts") {
  KernelLog log;
  log.says("NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.", start);
  for (int i = 0; i < 20; ++i) log.says("NVRM: Xid (PCI:0000:0b:00): 31, pid=7", start);
  CHECK(log.faults->explaining(failure).lines.size() == 2);
  CHECK(log.faults->explaining(failure).card == job::Card::broken);
  for (int i = 1000; i < 1100; ++i)
    log.says("NVRM: Xid (PCI:0000:0b:00): " + std::to_string(i) + ", pid=7", start + 1s);
  CHECK(log.faults->explaining(failure).lines.size() == 8);
  CHECK(log.faults->explaining(failure).card == job::Card::working);
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
  CardFaults faults(
      std::move(log.read), {{":0b:00", 3}}, [](std::int64_t) { return ProcessOwner(); },
      CardFaults::Form::journal);
  const auto says = [&](const std::string& text) {
    REQUIRE(write_all(log.write.get(), text));
    faults.look(start);
    return faults.explaining(failure).lines;
  };
  const std::string begin = R"({"PRIORITY":"3","SYSLOG_FACILITY":"0","MESSAGE":"NVRM: Xid )";
  CHECK(says("-- Journal begins --\n" + begin).empty());
  CHECK(says("(PCI:0000:0b:00): 79, GPU has fallen off the bus.\"}").empty());
  CHECK(says("\n{}\n") ==
        std::vector<std::string>{"GPU 3 fell off the bus (Xid 79): not your code"});
  log.write.reset();
  faults.look(start);  // journalctl has ended.
  CHECK(faults.explaining(failure).lines.size() == 1);
}

TEST_CASE("card faults: a look reads at most a thousand records, and the next one goes on") {
  constexpr off_t record_bytes = 16 << 10;  // A file's reads are as long as their buffer.
  Fd log(::memfd_create("kmsg", MFD_CLOEXEC));
  const std::string lost = "3,7,8,-;NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.\n";
  REQUIRE(::ftruncate(log.get(), 1001 * record_bytes) == 0);
  const ssize_t count = ::pwrite(log.get(), lost.data(), lost.size(), 1000 * record_bytes);
  REQUIRE(count == static_cast<ssize_t>(lost.size()));
  CardFaults faults(std::move(log), {{":0b:00", 3}}, [](std::int64_t) { return ProcessOwner(); });
  faults.look(start);
  CHECK(faults.explaining(failure).lines.empty());
  faults.look(start);
  CHECK(faults.explaining(failure).lines.size() == 1);
}
