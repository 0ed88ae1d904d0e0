#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/top/figures.h"
#include "cli/top/screen.h"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t gib = std::int64_t{1} << 30;

job::HostUsage host_at(std::int64_t second, std::int64_t busy_us, std::int64_t bytes) {
  return {.host = "algo-1",
          .time = UnixMillis(second * 1000),
          .usage = {.memory_bytes = 3 * gib / 2,
                    .processor_time = std::chrono::microseconds(busy_us),
                    .processes = 12,
                    .disk = {bytes, 2 * bytes},
                    .network = {-1, -1}}};
}

std::vector<JobFigures> demo(job::HostUsage host) {
  std::vector<JobFigures> jobs(1);
  jobs[0].job = "demo";
  jobs[0].is_local = true;
  jobs[0].hosts.push_back(std::move(host));
  return jobs;
}

const job::GpuUse card{3, 97, 5 * gib / 2, {80 * gib, 412, 61, 1980, 2619, 0x4 | 0x8 | 0x40}};

TEST_CASE("top: sizes have three digits and a unit") {
  struct {
    double bytes;
    const char* text;
  } const cases[] = {{0, "0 B"},
                     {999, "999 B"},
                     {1000, "1.0 KiB"},
                     {1024 * 1536.0, "1.5 MiB"},
                     {99.94 * 1024, "99.9 KiB"},
                     {1023.9 * 1024, "1.0 MiB"},
                     {3.0 * (1LL << 60), "3072 PiB"}};
  for (const auto& each : cases) CHECK(bytes_text(each.bytes) == each.text);
}

TEST_CASE("top: rates need two answers, and none is negative") {
  const Rates rates = rates_between(host_at(10, 1'000'000, 100), host_at(12, 4'000'000, 2148));
  CHECK(rates.processors == 1.5);
  CHECK(rates.disk_read == 1024);
  CHECK(rates.disk_written == 2048);
  CHECK(!rates.network_in);
  CHECK(
      !rates_between(host_at(10, 5, 1), host_at(12, 4, 2)).processors);  // The host was restarted.
  CHECK(!rates_between(host_at(10, 5, 1), host_at(10, 9, 2)).processors);
  CHECK(!rates_between(host_at(10, 5, 7), host_at(12, 9, 6)).disk_read);
}

TEST_CASE("top: hosts and cards are two tables, and columns go before lines are cut") {
  Figures figures;
  CHECK(figures.text(0, 0) == "no running jobs\n");
  job::HostUsage host = host_at(10, 1'000'000, 100);
  host.usage.gpus = {card, {.number = 4}};
  figures.take(demo(host));
  CHECK(!figures.is_whole());
  CHECK(figures.text(0, 0).find("demo  algo-1  -     1.5 GiB  -") != std::string::npos);
  host = host_at(12, 4'000'000, 2148);
  host.usage.gpus = {card, {.number = 4, .percent = 0}};
  figures.take(demo(host));
  CHECK(!figures.is_whole());  // The traffic may still come.
  for (int i = 0; i < 3; ++i) figures.take(demo(host));
  CHECK(figures.is_whole());
  CHECK(figures.text(0, 0) ==
        "JOB   HOST    CPUS  MEMORY   NET IN  NET OUT  DISK READ  DISK WRITE  PROCESSES\n"
        "demo  algo-1  1.50  1.5 GiB  -       -        1.0 KiB/s  2.0 KiB/s   12\n"
        "\n"
        "JOB   HOST    GPU  USE  MEMORY              POWER  TEMP  SM CLOCK  THROTTLED            "
        "             MEM CLOCK\n"
        "demo  algo-1  3    97%  2.5 GiB / 80.0 GiB  412 W  61 C  1980 MHz  "
        "sw_power_cap,hw_thermal_slowdown  2619 MHz\n"
        "demo  algo-1  4    0%   0 B                 -      -     -         -                    "
        "             -\n");
  const std::string narrow = figures.text(40, 0);
  CHECK(narrow ==
        "JOB   HOST    CPUS  MEMORY   NET IN\n"
        "demo  algo-1  1.50  1.5 GiB  -\n"
        "\n"
        "JOB   HOST    GPU  USE\n"
        "demo  algo-1  3    97%\n"
        "demo  algo-1  4    0%\n");
  CHECK(figures.text(40, 4) ==
        "JOB   HOST    CPUS  MEMORY   NET IN\n"
        "demo  algo-1  1.50  1.5 GiB  -\n"
        "\n"
        "3 more lines\n");
  CHECK(figures.text(1, 1) == "6 more lines\n");
}

TEST_CASE("top: traffic has columns where some card's driver reports it") {
  Figures figures;
  job::HostUsage host = host_at(10, 0, 0);
  host.usage.gpus = {card, card};
  host.usage.gpus[0].traffic = {.pcie_in = 3 << 20, .pcie_out = 0};
  host.usage.gpus[1].traffic = {.pcie_in = 1 << 20, .pcie_out = 1 << 10};
  figures.take(demo(host_at(8, 0, 0)));
  figures.take(demo(host));
  CHECK(figures.is_whole());
  std::string text = figures.text(0, 0);
  CHECK(text.find("THROTTLED                         PCIE IN    PCIE OUT   MEM CLOCK\n") !=
        std::string::npos);
  CHECK(text.find("  3.0 MiB/s  0 B/s      2619 MHz\n") != std::string::npos);
  const Json told = figures.to_json(UnixMillis(1))["jobs"][0]["hosts"][0]["gpus"][0];
  CHECK(told["pcie_in_bytes_per_second"] == 3 << 20);
  CHECK(told["pcie_out_bytes_per_second"] == 0);
  CHECK(told["nvlink_in_bytes_per_second"].is_null());
  host.usage.gpus[1].traffic.nvlink_out = std::int64_t{250} << 30;
  figures.take(demo(host));
  text = figures.text(0, 0);
  CHECK(text.find("NVLINK OUT") != std::string::npos);
  CHECK(text.find("NVLINK IN") == std::string::npos);
  CHECK(text.find("250 GiB/s") != std::string::npos);
}

TEST_CASE("top: a busy host and its GPU, as docs/users/gpus.md shows them") {
  job::HostUsage host{.host = "algo-1",
                      .time = UnixMillis(10'000),
                      .usage = {.memory_bytes = 124 * gib / 10,
                                .processor_time = 0us,
                                .processes = 9,
                                .disk = {0, 0},
                                .network = {0, 0}}};
  std::vector<JobFigures> jobs = demo(host);
  jobs[0].job = "busy";
  Figures figures;
  figures.take(jobs);
  host.time = UnixMillis(12'000);
  host.usage.processor_time = 7'940'000us;
  host.usage.disk = {0, 96 << 10};
  host.usage.network = {2458, 2253};
  host.usage.gpus = {
      {3, 97, 712 * gib / 10, {796 * gib / 10, 692, 61, 1755, 2619, 0x4}, {12 << 20, 3 << 20}}};
  jobs[0].hosts = {host};
  figures.take(jobs);
  CHECK(figures.text(0, 0) ==
        "JOB   HOST    CPUS  MEMORY    NET IN     NET OUT    DISK READ  DISK WRITE  PROCESSES\n"
        "busy  algo-1  3.97  12.4 GiB  1.2 KiB/s  1.1 KiB/s  0 B/s      48.0 KiB/s  9\n"
        "\n"
        "JOB   HOST    GPU  USE  MEMORY               POWER  TEMP  SM CLOCK  THROTTLED     PCIE IN "
        "    PCIE OUT   MEM CLOCK\n"
        "busy  algo-1  3    97%  71.2 GiB / 79.6 GiB  692 W  61 C  1755 MHz  sw_power_cap  12.0 "
        "MiB/s  3.0 MiB/s  2619 MHz\n");
}

TEST_CASE("top: a host that did not answer anew keeps its rates, and foreign names are text") {
  Figures figures;
  figures.take(demo(host_at(10, 0, 0)));
  figures.take(demo(host_at(12, 4'000'000, 0)));
  figures.take(demo(host_at(12, 4'000'000, 0)));
  CHECK(figures.text(0, 0).find("algo-1  2.00") != std::string::npos);
  std::vector<JobFigures> evil = demo(host_at(1, 0, 0));
  evil[0].job = "a\x1b[2J";
  evil[0].hosts[0].host = "b\nc";
  evil.push_back({.job = "idle"});
  figures.take(evil);
  const std::string text = figures.text(0, 0);
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find("b\nc") == std::string::npos);
  CHECK(text.find("idle      no running host") != std::string::npos);
}

TEST_CASE("top: JSON has every figure with its unit, and null for what is not known") {
  Figures figures;
  job::HostUsage host = host_at(10, 0, 0);
  host.usage.gpus = {card, {.number = 4}};
  figures.take(demo(host_at(8, 0, 0)));
  figures.take(demo(host));
  const Json json = figures.to_json(UnixMillis(10'500));
  CHECK(json["time"] == "1970-01-01T00:00:10.500Z");
  const Json& told = json["jobs"][0];
  CHECK(told["job"] == "demo");
  CHECK(told["local"] == true);
  CHECK(told["hosts"][0]["cpus"] == 0.0);
  CHECK(told["hosts"][0]["network_in_bytes_per_second"].is_null());
  CHECK(told["hosts"][0]["gpus"][0] ==
        Json{{"gpu", 3},
             {"utilization_percent", 97},
             {"memory_bytes", 5 * gib / 2},
             {"memory_total_bytes", 80 * gib},
             {"power_watts", 412},
             {"temperature_celsius", 61},
             {"sm_clock_mhz", 1980},
             {"memory_clock_mhz", 2619},
             {"pcie_in_bytes_per_second", nullptr},
             {"pcie_out_bytes_per_second", nullptr},
             {"nvlink_in_bytes_per_second", nullptr},
             {"nvlink_out_bytes_per_second", nullptr},
             {"throttle_reasons", {"sw_power_cap", "hw_thermal_slowdown"}}});
  CHECK(told["hosts"][0]["gpus"][1]["memory_bytes"].is_null());
  CHECK(told["hosts"][0]["gpus"][1]["throttle_reasons"].is_null());
}

TEST_CASE("top: a frame replaces the last one without clearing the screen first") {
  CHECK(frame("a\nbc") == "\x1b[Ha\x1b[K\r\nbc\x1b[K\x1b[J");
  CHECK(frame("a\nbc").find("\x1b[2J") == std::string::npos);
}

}  // namespace
}  // namespace muster::cli
