#include "machine/sampler/processes.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/json.h"
#include "base/text.h"
#include "os/supervise/process_identity.h"
#include "os/supervise/process_stat.h"
#include "os/supervise/reaper.h"

namespace muster::sampler {
namespace {

constexpr std::size_t proc_file_bytes_max = 512u << 10;
/// Where a host has `sm`, whichever file that is there (docs/protocols/steward.md).
constexpr std::array<std::string_view, 4> own_places = {
    "/usr/local/bin/sm", "/usr/local/bin/train", "/run/muster/bin/sm", "/run/muster/bin/train"};

std::string proc(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string proc_text(pid_t pid, const char* name) {
  return read_file(proc(pid, name), proc_file_bytes_max).value_or("");
}

std::string program_of(pid_t pid) {
  std::error_code code;
  return std::filesystem::read_symlink(proc(pid, "exe"), code).string();
}

bool is_file(const std::string& path, const struct stat& of) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && status.st_dev == of.st_dev &&
         status.st_ino == of.st_ino;
}

bool is_own(pid_t pid, const struct stat& own) {
  const std::string program = program_of(pid);
  return std::find(own_places.begin(), own_places.end(), program) != own_places.end() ||
         is_file(proc(pid, "exe"), own);
}

/// The value behind `name` in a file of lines "Name: value".
std::string value_of(const std::string& text, std::string_view name) {
  for (const std::string& line : split(text, '\n'))
    if (line.starts_with(name)) return trim(line.substr(name.size()));
  return {};
}

std::string command_of(pid_t pid) {
  std::string words = proc_text(pid, "cmdline");
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::replace(words.begin(), words.end(), '\0', ' ');
  return words;
}

bool runs_python(pid_t pid) {
  const std::string program = program_of(pid);
  if (program.substr(program.rfind('/') + 1).starts_with("python")) return true;
  return proc_text(pid, "maps").find("/libpython") != std::string::npos;
}

std::int64_t io_bytes_of(pid_t pid) {
  const std::string text = proc_text(pid, "io");
  std::int64_t bytes = 0;
  for (const char* name : {"rchar:", "wchar:"})
    bytes += parse_integer(value_of(text, name)).value_or(0);
  return bytes;
}

Found look_at(pid_t pid) {
  const supervise::ProcessStat stat = supervise::stat_of(pid).value_or(supervise::ProcessStat{});
  Found found{.pid = pid, .is_python = runs_python(pid), .told = {}};
  found.told.pid = supervise::inner_number(proc_text(pid, "status"), pid);
  found.told.parent = stat.parent;  // As the machine counts, until all are known.
  const std::string environment = proc_text(pid, "environ");
  found.told.rank = supervise::rank_in(environment);
  if (found.told.rank < 0) found.told.task = task_in(environment);
  found.told.command = command_of(pid);
  const std::string waits_in = trim(proc_text(pid, "wchan"));
  if (waits_in != "0") found.told.waits_in = waits_in;
  found.told.started = stat.started;
  found.told.cpu_ms = stat.ticks * 1000 / std::max(::sysconf(_SC_CLK_TCK), 1L);
  found.told.io_bytes = io_bytes_of(pid);
  found.told.faults = stat.faults;
  found.told.stopped = stat.state == 'T';
  return found;
}

/// The value of the first such variable; empty if there is none.
std::string variable_in(std::string_view environment, std::string_view name) {
  for (const std::string& entry : split(environment, '\0'))
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('='))
      return entry.substr(name.size() + 1);
  return {};
}

/// A word of a launcher; programs may set such variables to anything.
bool is_task_name(std::string_view name) {
  return !name.empty() && name.size() <= 20 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Sets each process's parent to its nearest reported ancestor.
void set_parents(std::vector<Found>& all) {
  std::map<std::int64_t, std::int64_t> told;  // By the machine's number.
  for (const Found& each : all) told[each.pid] = each.told.pid;
  for (Found& each : all) {
    std::int64_t at = each.told.parent;
    while (at > 1 && !told.contains(at))
      at = supervise::stat_from(proc_text(static_cast<pid_t>(at), "stat")).parent;
    each.told.parent = told.contains(at) ? told[at] : 0;
  }
}

}  // namespace

std::vector<FoundThread> threads_of(pid_t pid) {
  std::vector<FoundThread> threads;
  const std::string folder = proc(pid, "task");
  for (const std::string& name : names_in(folder).value_or({})) {
    const std::string thread = folder + "/" + name + "/";
    const auto text = [&](const char* file) {
      return read_file(thread + file, proc_file_bytes_max).value_or("");
    };
    FoundThread& found = threads.emplace_back();
    found.id = static_cast<pid_t>(parse_integer(name).value_or(0));
    found.number = supervise::inner_number(text("status"), found.id);
    found.name = trim(text("comm"));
    found.runs = supervise::stat_from(text("stat")).state == 'R';
  }
  std::sort(threads.begin(), threads.end(), [&](const FoundThread& a, const FoundThread& b) {
    return std::pair(a.id != pid, a.id) < std::pair(b.id != pid, b.id);
  });
  return threads;
}

std::chrono::nanoseconds processor_time(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::int64_t net_bytes_in(std::string_view text) {
  std::int64_t bytes = 0;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) == "lo") continue;
    const std::vector<std::string> fields = split_words(line.substr(colon + 1));
    if (fields.size() < 9) continue;
    bytes += parse_integer(fields[0]).value_or(0) + parse_integer(fields[8]).value_or(0);
  }
  return bytes;
}

std::int64_t net_bytes_of(pid_t pid) {
  struct stat theirs {
  }, ours{};
  if (::stat(proc(pid, "ns/net").c_str(), &theirs) != 0 ||
      ::stat("/proc/self/ns/net", &ours) != 0 || theirs.st_ino == ours.st_ino)
    return -1;
  return net_bytes_in(proc_text(pid, "net/dev"));
}

std::string task_in(std::string_view environment) {
  std::string role = variable_in(environment, "DMLC_ROLE");
  if (is_task_name(role)) return role;
  const Result<Json> config = parse_json(variable_in(environment, "TF_CONFIG"));
  if (!config || !config->is_object()) return {};
  const Json task = config->value("task", Json());
  if (!task.is_object()) return {};
  const Json type = task.value("type", Json());
  const Json index = task.value("index", Json());
  if (!type.is_string() || !is_task_name(type.get_ref<const std::string&>())) return {};
  if (!index.is_number_unsigned() || index.get<std::uint64_t>() > 1'000'000) return {};
  return type.get<std::string>() + " " + std::to_string(index.get<std::uint64_t>());
}

std::vector<Found> processes_below(pid_t root, const std::string& own_program) {
  struct stat own {};
  static_cast<void>(::stat(own_program.c_str(), &own));
  std::vector<pid_t> pids = supervise::descendants(root);
  pids.push_back(root);
  std::vector<Found> all;
  for (const pid_t pid : pids)
    if (!is_own(pid, own) && !command_of(pid).empty()) all.push_back(look_at(pid));
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::pair(a.told.started, a.pid) < std::pair(b.told.started, b.pid);
  });
  set_parents(all);
  return all;
}

}  // namespace muster::sampler
