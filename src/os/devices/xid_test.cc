#include "os/devices/xid.h"

#include <doctest/doctest.h>

using namespace muster;
using devices::describe;
using devices::Xid;
using devices::xid_in;
using devices::XidBlame;

TEST_CASE("xid: the driver's records tell number and place, all others nothing") {
  struct {
    const char* record;
    std::optional<Xid> want;
  } const cases[] = {
      // As an H100's driver (580.159.04) wrote it.
      {"4,812,50589950,-;NVRM: Xid (PCI:0000:00:06): 31, pid=596, name=python3, channel "
       "0x0000001e, "
       "intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x836f_43e00000. "
       "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE\n",
       Xid{31, ":00:06", "", 596}},
      {"3,1,2,-;NVRM: Xid (PCI:0000:0B:00): 79, GPU has fallen off the bus.\n SUBSYSTEM=pci\n",
       Xid{79, ":0b:00", ""}},
      // The name is the job's own.
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 13, pid=9, name=x): 79, GPU has fallen\n",
       Xid{13, ":00:06", "", 9}},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 13, name=x, pid=7\n", Xid{13, ":00:06", ""}},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 79, pid='<unknown>', name=<unknown>\n",
       Xid{79, ":00:06", ""}},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 13, pid=99999999\n", Xid{13, ":00:06", ""}},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 154, GPU recovery action changed from 0x0 (None) to "
       "0x1 "
       "(GPU Reset Required)\n",
       Xid{154, ":00:06", "GPU Reset Required"}},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 154, pid=9, name=(\x1b[2J)\n",
       Xid{154, ":00:06", "", 9}},
      // A program that may write to /dev/kmsg: facility 1, and never 0.
      {"12,1,2,-;NVRM: Xid (PCI:0000:00:06): 79, pid=1\n", std::nullopt},
      {"4,1,2,-;x NVRM: Xid (PCI:0000:00:06): 79, pid=1\n", std::nullopt},
      {"4,1,2,-;x\nNVRM: Xid (PCI:0000:00:06): 79, pid=1\n", std::nullopt},
      {"4,1,2,-;NVRM: GPU at PCI:0000:00:06: GPU-00000000-1111-2222-3333-444444444444\n",
       std::nullopt},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): , pid=1\n", std::nullopt},
      {"4,1,2,-;NVRM: Xid (PCI:0000:00:06): 99999999999999999999, pid=1\n", std::nullopt},
      {"4,1,2,-;NVRM: Xid (PCI:", std::nullopt},
      {"4", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.record);
    CHECK(xid_in(c.record) == c.want);
  }
}

TEST_CASE("xid: the kind of error, and whose fault it is") {
  struct {
    Xid xid;
    XidBlame blame;
    const char* want;
  } const cases[] = {
      {{31, "", ""}, XidBlame::program, "GPU 3: illegal memory access by the program (Xid 31)"},
      {{94, "", ""},
       XidBlame::memory,
       "GPU 3 has a memory error that affected only this program (Xid 94): not your code"},
      {{79, "", ""}, XidBlame::machine, "GPU 3 fell off the bus (Xid 79): not your code"},
      {{63, "", ""},
       XidBlame::nobody,
       "GPU 3: a row of its memory will be replaced at the next reset (Xid 63)"},
      {{9000, "", ""}, XidBlame::nobody, "GPU 3: Xid 9000"},
      {{154, "", "GPU Reset Required"},
       XidBlame::machine,
       "GPU 3 needs recovery: GPU Reset Required (Xid 154): not your code"},
      {{154, "", "None"}, XidBlame::nobody, "GPU 3 needs no recovery (Xid 154)"},
      {{154, "", ""}, XidBlame::nobody, "GPU 3: Xid 154"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    CHECK(blame_of(c.xid) == c.blame);
    CHECK(describe(3, c.xid) == c.want);
  }
}

TEST_CASE("xid: what happened to a machine's cards, the worst first") {
  const std::map<std::string, int> places = {{":0a:00.0", 0}, {":0b:00.0", 3}};
  const Xid illegal{31, ":0a:00", ""};
  const Xid lost{79, ":0b:00", ""};
  CHECK(devices::history_of(
            {illegal, illegal, lost, {63, ":0b:00", ""}, {79, ":ff:00", ""}, illegal}, places) ==
        std::vector<std::string>{
            "GPU 3 fell off the bus (Xid 79)",
            "GPU 0: illegal memory access by the program (Xid 31), 3 times",
            "GPU 3: a row of its memory will be replaced at the next reset (Xid 63)"});
  std::vector<Xid> many;
  for (int number = 1000; number < 1100; ++number) many.push_back({number, ":0a:00", ""});
  CHECK(devices::history_of(many, places).size() == 16);
  CHECK(devices::history_of({}, places).empty());
}

TEST_CASE("xid: a line of the journal stands for a record of the kernel's log") {
  struct {
    const char* line;
    std::optional<Xid> want;
  } const cases[] = {
      {R"({"_TRANSPORT":"kernel","PRIORITY":"3","SYSLOG_FACILITY":"0","MESSAGE":"NVRM: Xid )"
       R"((PCI:0000:0b:00): 79, GPU has fallen off the bus.","__CURSOR":"s=1"})",
       Xid{79, ":0b:00", ""}},
      // Another program's line has its own facility.
      {R"({"PRIORITY":"4","SYSLOG_FACILITY":"1","MESSAGE":"NVRM: Xid (PCI:0000:0b:00): 79, x"})",
       std::nullopt},
      {R"({"PRIORITY":"9","SYSLOG_FACILITY":"0","MESSAGE":"NVRM: Xid (PCI:0000:0b:00): 79, x"})",
       std::nullopt},
      {R"({"PRIORITY":"4","MESSAGE":"NVRM: Xid (PCI:0000:0b:00): 79, x"})", std::nullopt},
      {R"({"PRIORITY":"4","SYSLOG_FACILITY":"0","MESSAGE":[78,86]})", std::nullopt},
      {"-- Journal begins at Mon 2026-11-23 --", std::nullopt},
      {"[]", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    const std::optional<std::string> record = devices::record_in_journal(c.line);
    CHECK((record ? xid_in(*record) : std::nullopt) == c.want);
  }
}
