#include "os/devices/card_health.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/text.h"

namespace muster::devices {
namespace {

using Texts = std::vector<std::string>;

/// `nvidia-smi -q` of a healthy, idle H100 (driver 580.159.04, November 2026); its serial number
/// and ids are replaced.
std::string recorded() {
  return *read_file(MUSTER_SOURCE_DIR "/tests/data/nvidia_smi_h100.txt");
}

/// The recorded text with another value in the line that has this text.
std::string with(const std::string& line, const std::string& value) {
  std::string text = recorded();
  const std::size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  const std::size_t colon = text.find(" : ", at);
  return text.replace(colon + 3, text.find('\n', colon) - colon - 3, value);
}

CardHealth only(const std::string& text) {
  const Result<std::vector<CardHealth>> cards = card_health_in(text);
  REQUIRE_MESSAGE(cards, (cards ? "" : cards.error().text));
  REQUIRE(cards->size() == 1);
  return cards->front();
}

TEST_CASE("card health: a healthy card, as its driver printed it") {
  CHECK(only(recorded()) == CardHealth{.bus = ":00:06.0", .number = 0});
}

TEST_CASE("card health: what makes a card unfit for jobs, and what is only said") {
  struct {
    const char* line;
    const char* value;
    std::string sickness;
    Texts remarks;
  } const cases[] = {
      {"GPU Recovery Action", "Reset", "needs recovery: Reset", {}},
      {"GPU Recovery Action", "Drain and Reset", "needs recovery: Drain and Reset", {}},
      {"GPU Recovery Action", "N/A", "", {}},
      {"Remapping Failure Occurred", "Yes", "could not replace a row of its memory", {}},
      {"Unrepairable Memory", "Yes", "has memory that cannot be repaired", {}},
      {"Pending Page Blacklist",
       "Yes",
       "has memory pages to retire: reboot, or reset the card",
       {}},
      {"Inactive Uncorrectable Error", "3", "", {}},
      {"        Pending                                        : No",
       "Yes",
       "",
       {"a row of its memory will be replaced at the next reset"}},
      {"DRAM Uncorrectable", "1", "", {"1 uncorrected memory error since the last reset"}},
      {"SRAM Uncorrectable Parity", "2", "", {"2 uncorrected memory errors since the last reset"}},
      {"SRAM Threshold Exceeded", "Yes", "", {"too many errors in its SRAM"}},
      {"HW Thermal Slowdown", "Active", "", {"slowed down: too hot"}},
      {"HW Power Brake Slowdown", "Active", "", {"slowed down by its power supply"}},
      {"SW Power Cap", "Active", "", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    CAPTURE(c.value);
    const CardHealth health = only(with(c.line, c.value));
    CHECK(health.sickness == c.sickness);
    CHECK(health.remarks == c.remarks);
  }
}

/// The sections of driver 418's output, as its manual describes them.
TEST_CASE("card health: an older driver has other names, and no word of its own") {
  const std::string text = R"(
==============NVSMI LOG==============
Attached GPUs                   : 2
GPU 00000000:3B:00.0
    Minor Number                : 1
    Clocks Throttle Reasons
        HW Slowdown             : Active
            HW Thermal Slowdown : Active
        SW Thermal Slowdown     : Active
    FB Memory Usage
        Used                    : 10 MiB
    ECC Errors
        Volatile
            Single Bit
                Total           : 7
            Double Bit
                Device Memory   : 2
                Total           : 2
        Aggregate
            Double Bit
                Total           : 9
    Retired Pages
        Double Bit ECC          : 1
        Pending                 : Yes
    Processes
        Process ID              : 531
            Type                : C
            Name                : python3
            Used GPU Memory     : 8 MiB
        Process ID              : 532
            Type                : C
GPU 00000000:AF:00.0
    Minor Number                : 0
    FB Memory Usage
        Used                    : 0 MiB
    Processes                   : None
)";
  const Result<std::vector<CardHealth>> cards = card_health_in(text);
  REQUIRE(cards);
  REQUIRE(cards->size() == 2);
  CHECK(cards->front() ==
        CardHealth{
            .bus = ":3b:00.0",
            .number = 1,
            .sickness = "has memory pages to retire: reboot, or reset the card",
            .remarks = {"2 uncorrected memory errors since the last reset", "slowed down: too hot"},
            .memory_used_bytes = 10 << 20,
            .processes = {531, 532}});
  CHECK(cards->back() == CardHealth{.bus = ":af:00.0", .number = 0});
}

TEST_CASE("card health: a card that the driver lost is all that it speaks of") {
  struct {
    const char* text;
    const char* sickness;
  } const cases[] = {
      {"Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the "
       "system to recover this GPU\n",
       "does not respond: GPU is lost.  Reboot the system to recover this GPU"},
      {"Unable to determine the device handle for GPU0000:0B:00.0: Unknown Error\n",
       "does not respond: Unknown Error"},
  };
  for (const auto& c : cases) {
    const CardHealth health = only(c.text);
    CHECK(health.bus == ":0b:00.0");
    CHECK(!health.number);
    CHECK(health.sickness == c.sickness);
  }
}

TEST_CASE("card health: a card is found by its device file, a lost one by its place") {
  std::vector<CardHealth> cards = {{.bus = ":0b:00.0", .sickness = "does not respond: GPU is lost"},
                                   {.bus = ":0c:00.0",
                                    .number = 1,
                                    .remarks = {"slowed down: too hot"},
                                    .memory_used_bytes = 3 << 20,
                                    .processes = {7, 8}}};
  const std::vector<Gpu> gpus = plain_gpus({"nvidia0", "nvidia1", "nvidia3"}, "/dev");
  CHECK(card_of(gpus[0], cards) == nullptr);
  CHECK(name_of(cards[0]) == "the GPU at 0b:00.0");
  add_numbers(cards, {{":0b:00.0", 0}, {":0c:00.0", 9}});
  CHECK(card_of(gpus[0], cards) == &cards[0]);
  CHECK(card_of(gpus[1], cards) == &cards[1]);
  CHECK(card_of(gpus[2], cards) == nullptr);
  CHECK(name_of(cards[0]) == "GPU 0");
  CHECK(remarks_on(cards[0]).empty());
  CHECK(remarks_on(cards[1]) == Texts{"GPU 1: slowed down: too hot",
                                      "GPU 1: 3 MiB of its memory are in use by process 7, 8"});
}

TEST_CASE("card health: a tool that cannot answer says why") {
  const std::string mismatch = "Failed to initialize NVML: Driver/library version mismatch\n";
  CHECK(card_health_in("\n" + mismatch + "NVML library version: 580.159\n").error().text ==
        "nvidia-smi -q: Failed to initialize NVML: Driver/library version mismatch");
  CHECK(card_health_in("\x1b[2J" + std::string(9000, 'x')).error().text.size() < 300);
  CHECK(card_health_in("").error().text == "nvidia-smi -q: unexpected output");
}

TEST_CASE("card health: remarks on links are added by the tool's number") {
  std::vector<CardHealth> cards = {{.bus = ":0b:00.0", .number = 1, .remarks = {"slowed down"}},
                                   {.bus = ":0c:00.0", .number = 0}};
  add_remarks(cards, {{0, {"1 of 2 NVLinks is down"}}, {2, {"nobody's"}}, {-1, {"nobody's"}}});
  CHECK(cards[0].remarks == Texts{"slowed down", "1 of 2 NVLinks is down"});
  CHECK(cards[1].remarks.empty());
}

TEST_CASE("card health: a process whose name looks like another card is not believed") {
  const std::string forged =
      "Process ID : 7\n            Name : x\nGPU 00000000:00:07.0\n"
      "    GPU Recovery Action : Reset\n";
  const std::string text = with("    Processes ", forged);
  CHECK(card_health_in(text).error().code == Errc::invalid_input);
  const std::string same = with("    Processes ", "None\nGPU 00000000:00:06.0\n    A : b");
  CHECK(!card_health_in(same));
  // Older drivers have no such line: then the process's would be the only one.
  const std::string field =
      "Process ID : 7\n            Name : x\n"
      "    Retired Pages\n        Pending : Yes";
  CHECK(only(with("    Processes ", field)).sickness.empty());
  for (const char* garbage : {"", "\n", "no such tool", "GPU 1\n    x : y\n", ": : :\n   :\n",
                              "Unable to determine the device handle for GPU"}) {
    CAPTURE(garbage);
    CHECK(!card_health_in(garbage));
  }
}

}  // namespace
}  // namespace muster::devices
