#include "cli/top/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dates.h"
#include "base/terminal.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr const char* unknown = "-";
constexpr std::size_t least_columns = 2;
/// A second apart: the tool that reports traffic starts with the first one.
constexpr int traffic_answers = 4;
constexpr std::array gpu_columns = {"JOB",      "HOST",      "GPU",        "USE",       "MEMORY",
                                    "POWER",    "TEMP",      "SM CLOCK",   "THROTTLED", "PCIE IN",
                                    "PCIE OUT", "NVLINK IN", "NVLINK OUT", "MEM CLOCK"};
constexpr std::size_t first_traffic_column = 9;
constexpr std::size_t last_traffic_column = 12;

std::string number_text(const char* format, double value) {
  std::array<char, 32> text{};
  const int count = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<std::size_t>(std::max(count, 0))};
}

std::optional<double> rate(std::int64_t before, std::int64_t now, double seconds) {
  if (before < 0 || now < before) return std::nullopt;
  return static_cast<double>(now - before) / seconds;
}

std::string speed_text(const std::optional<double>& bytes) {
  return bytes ? bytes_text(*bytes) + "/s" : unknown;
}

std::string flow_text(std::int64_t bytes) {
  return bytes < 0 ? unknown : bytes_text(static_cast<double>(bytes)) + "/s";
}

std::string unit_text(int value, const char* unit) {
  return value < 0 ? unknown : std::to_string(value) + unit;
}

std::string memory_text(const job::GpuUse& gpu) {
  std::string used = bytes_text(static_cast<double>(gpu.memory_bytes));
  if (gpu.state.memory_total_bytes < 0) return used;
  return used + " / " + bytes_text(static_cast<double>(gpu.state.memory_total_bytes));
}

std::string reasons_text(const job::GpuState& state) {
  if (state.clock_reasons < 0) return unknown;
  std::string text;
  for (const std::string_view name : job::throttle_reasons(state.clock_reasons))
    text.append(text.empty() ? "" : ",").append(name);
  return text.empty() ? "no" : text;
}

TableRow gpu_row(const std::string& job, const std::string& host, const job::GpuUse& gpu) {
  TableRow row{visible_line(job), visible_line(host), std::to_string(gpu.number)};
  if (gpu.percent < 0) {
    row.resize(gpu_columns.size(), unknown);
    return row;
  }
  const job::GpuState& state = gpu.state;
  const job::GpuTraffic& traffic = gpu.traffic;
  row.insert(row.end(),
             {std::to_string(gpu.percent) + "%", memory_text(gpu),
              unit_text(state.power_watts, " W"), unit_text(state.temperature_celsius, " C"),
              unit_text(state.sm_mhz, " MHz"), reasons_text(state), flow_text(traffic.pcie_in),
              flow_text(traffic.pcie_out), flow_text(traffic.nvlink_in),
              flow_text(traffic.nvlink_out), unit_text(state.memory_mhz, " MHz")});
  return row;
}

/// Without those columns of traffic that no card has.
std::vector<TableRow> without_unknown(std::vector<TableRow> rows) {
  for (std::size_t column = last_traffic_column + 1; column-- > first_traffic_column;) {
    const bool is_unknown = std::all_of(
        rows.begin() + 1, rows.end(), [&](const TableRow& row) { return row[column] == unknown; });
    if (!is_unknown) continue;
    for (TableRow& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return rows;
}

std::size_t width_of(const std::string& table) {
  std::size_t width = 0;
  for (const std::string& line : split(table, '\n'))
    width = std::max(width,
                     static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
                       return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                     })));
  return width;
}

std::string fitting_table(std::vector<TableRow> rows, std::size_t columns) {
  std::string text = table_text(rows);
  while (columns > 0 && rows.front().size() > least_columns && width_of(text) > columns) {
    for (TableRow& row : rows) row.pop_back();
    text = table_text(rows);
  }
  return text;
}

Json whole_json(const std::optional<double>& value) {
  return value ? Json(std::llround(*value)) : Json();
}

Json thousandths_json(const std::optional<double>& value) {
  return value ? Json(std::round(*value * 1000) / 1000) : Json();
}

Json known_json(std::int64_t value) {
  return value < 0 ? Json() : Json(value);
}

Json gpu_json(const job::GpuUse& gpu) {
  const bool is_known = gpu.percent >= 0;
  const job::GpuState& state = gpu.state;
  Json json{{"gpu", gpu.number},
            {"utilization_percent", known_json(gpu.percent)},
            {"memory_bytes", is_known ? Json(gpu.memory_bytes) : Json()},
            {"memory_total_bytes", known_json(state.memory_total_bytes)},
            {"power_watts", known_json(state.power_watts)},
            {"temperature_celsius", known_json(state.temperature_celsius)},
            {"sm_clock_mhz", known_json(state.sm_mhz)},
            {"memory_clock_mhz", known_json(state.memory_mhz)},
            {"pcie_in_bytes_per_second", known_json(gpu.traffic.pcie_in)},
            {"pcie_out_bytes_per_second", known_json(gpu.traffic.pcie_out)},
            {"nvlink_in_bytes_per_second", known_json(gpu.traffic.nvlink_in)},
            {"nvlink_out_bytes_per_second", known_json(gpu.traffic.nvlink_out)},
            {"throttle_reasons", Json()}};
  if (state.clock_reasons < 0) return json;
  Json& reasons = json["throttle_reasons"] = Json::array();
  for (const std::string_view name : job::throttle_reasons(state.clock_reasons))
    reasons.push_back(std::string(name));
  return json;
}

}  // namespace

std::string bytes_text(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  const char* const format = unit == 0 || bytes >= 99.95 ? "%.0f" : "%.1f";
  return number_text(format, bytes) + " " + units[unit];
}

Rates rates_between(const job::HostUsage& before, const job::HostUsage& now) {
  const double seconds = static_cast<double>((now.time - before.time).count()) / 1000;
  const auto busy = now.usage.processor_time - before.usage.processor_time;
  if (seconds <= 0 || busy.count() < 0) return {};
  const job::Usage& first = before.usage;
  const job::Usage& last = now.usage;
  return {.processors = static_cast<double>(busy.count()) / 1e6 / seconds,
          .disk_read = rate(first.disk.in, last.disk.in, seconds),
          .disk_written = rate(first.disk.out, last.disk.out, seconds),
          .network_in = rate(first.network.in, last.network.in, seconds),
          .network_out = rate(first.network.out, last.network.out, seconds)};
}

void Figures::take(std::vector<JobFigures> jobs) {
  std::map<std::pair<std::string, std::string>, Seen> seen;
  for (const JobFigures& job : jobs) {
    for (const job::HostUsage& host : job.hosts) {
      const std::pair<std::string, std::string> key(job.job, host.host);
      const auto before = seen_.find(key);
      Seen& now = seen[key];
      now.last = host;
      if (before == seen_.end()) continue;
      // A host that did not answer anew keeps its rates.
      const bool is_new = host.time != before->second.last.time;
      now.rates = is_new ? rates_between(before->second.last, host) : before->second.rates;
    }
  }
  jobs_ = std::move(jobs);
  seen_ = std::move(seen);
  ++answers_;
}

const Figures::Seen& Figures::of(const JobFigures& job, const job::HostUsage& host) const {
  return seen_.at({job.job, host.host});
}

bool Figures::is_whole() const {
  return std::all_of(seen_.begin(), seen_.end(), [this](const auto& each) {
    const std::vector<job::GpuUse>& gpus = each.second.last.usage.gpus;
    return each.second.rates &&
           std::all_of(gpus.begin(), gpus.end(), [this](const job::GpuUse& gpu) {
             return gpu.percent >= 0 && (gpu.traffic.pcie_in >= 0 || answers_ > traffic_answers);
           });
  });
}

std::vector<TableRow> Figures::host_rows() const {
  std::vector<TableRow> rows = {{"JOB", "HOST", "CPUS", "MEMORY", "NET IN", "NET OUT", "DISK READ",
                                 "DISK WRITE", "PROCESSES"}};
  for (const JobFigures& job : jobs_) {
    if (job.hosts.empty()) {
      TableRow row{visible_line(job.job), "no running host"};
      row.resize(rows.front().size());
      rows.push_back(std::move(row));
    }
    for (const job::HostUsage& host : job.hosts) {
      const Rates rates = of(job, host).rates.value_or(Rates());
      rows.push_back({visible_line(job.job), visible_line(host.host),
                      rates.processors ? number_text("%.2f", *rates.processors) : unknown,
                      bytes_text(static_cast<double>(host.usage.memory_bytes)),
                      speed_text(rates.network_in), speed_text(rates.network_out),
                      speed_text(rates.disk_read), speed_text(rates.disk_written),
                      std::to_string(host.usage.processes)});
    }
  }
  return rows;
}

/// Memory's clock, which hardly ever changes, is the first column to be left out.
std::vector<TableRow> Figures::gpu_rows() const {
  std::vector<TableRow> rows = {TableRow(gpu_columns.begin(), gpu_columns.end())};
  for (const JobFigures& job : jobs_)
    for (const job::HostUsage& host : job.hosts)
      for (const job::GpuUse& gpu : host.usage.gpus)
        rows.push_back(gpu_row(job.job, host.host, gpu));
  return without_unknown(std::move(rows));
}

std::string Figures::text(std::size_t columns, std::size_t rows) const {
  if (jobs_.empty()) return "no running jobs\n";
  std::string text = fitting_table(host_rows(), columns);
  if (const std::vector<TableRow> gpus = gpu_rows(); gpus.size() > 1)
    text += "\n" + fitting_table(gpus, columns);
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();  // Behind the last newline.
  if (rows == 0 || lines.size() <= rows) return text;
  const std::size_t kept = std::max<std::size_t>(rows, 1) - 1;
  const std::string left_out = std::to_string(lines.size() - kept) + " more lines";
  lines.resize(kept);
  text.clear();
  for (const std::string& line : lines) text += line + "\n";
  return text + left_out + "\n";
}

Json Figures::to_json(UnixMillis now) const {
  Json jobs = Json::array();
  for (const JobFigures& job : jobs_) {
    Json hosts = Json::array();
    for (const job::HostUsage& host : job.hosts) {
      const Rates rates = of(job, host).rates.value_or(Rates());
      Json gpus = Json::array();
      for (const job::GpuUse& gpu : host.usage.gpus) gpus.push_back(gpu_json(gpu));
      hosts.push_back({{"host", host.host},
                       {"time", iso_date(host.time)},
                       {"cpus", thousandths_json(rates.processors)},
                       {"memory_bytes", host.usage.memory_bytes},
                       {"processes", host.usage.processes},
                       {"network_in_bytes_per_second", whole_json(rates.network_in)},
                       {"network_out_bytes_per_second", whole_json(rates.network_out)},
                       {"disk_read_bytes_per_second", whole_json(rates.disk_read)},
                       {"disk_write_bytes_per_second", whole_json(rates.disk_written)},
                       {"gpus", std::move(gpus)}});
    }
    jobs.push_back({{"job", job.job}, {"local", job.is_local}, {"hosts", std::move(hosts)}});
  }
  return Json{{"time", iso_date(now)}, {"jobs", std::move(jobs)}};
}

}  // namespace muster::cli
