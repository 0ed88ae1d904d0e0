#include "os/supervise/cgroup_usage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/text.h"
#include "job/host_spec.h"
#include "os/supervise/process_stat.h"

namespace muster::supervise {
namespace {

/// The group in every hierarchy: with version 2 the mount itself, with version 1 folders in it.
std::vector<std::string> groups(const std::string& mounted, const std::string& path) {
  std::error_code code;
  std::vector<std::string> found;
  if (std::filesystem::exists(mounted + path, code)) found.push_back(mounted + path);
  for (const auto& root : std::filesystem::directory_iterator(mounted, code))
    if (root.is_directory(code) && std::filesystem::exists(root.path().string() + path, code))
      found.push_back(root.path().string() + path);
  return found;
}

/// The number that a file of the group holds, or the one behind `word` in it.
std::optional<std::int64_t> number(const std::vector<std::string>& folders, const char* file,
                                   std::string_view word = {}) {
  for (const std::string& folder : folders) {
    const Result<std::string> text = read_file(folder + "/" + file);
    if (!text) continue;
    if (word.empty()) return parse_integer(trim(*text));
    for (const std::string& line : split(*text, '\n')) {
      const std::vector<std::string> words = split_words(line);
      if (words.size() == 2 && words[0] == word) return parse_integer(words[1]);
    }
  }
  return std::nullopt;
}

/// Pages of files that were not used lately: the kernel takes them back before it runs out, so they
/// do not count as memory that the host needs.
std::int64_t idle_cache(const std::vector<std::string>& folders) {
  std::optional<std::int64_t> bytes = number(folders, "memory.stat", "total_inactive_file");
  if (!bytes) bytes = number(folders, "memory.stat", "inactive_file");
  return bytes.value_or(0);
}

/// A host's first process is among the first of its group.
constexpr std::size_t processes_tried_max = 64;
constexpr std::size_t procs_bytes_max = 4u << 20;
constexpr std::size_t group_processes_max = 10'000;
constexpr std::size_t proc_bytes_max = 1u << 16;

/// 0 where there is none.
std::int64_t number_in(const std::vector<std::string>& words, std::size_t at) {
  return at < words.size() ? parse_integer(words[at]).value_or(0) : 0;
}

/// True for the first process of a host, in whose network the host is whatever others made for
/// themselves: it is process 1 one level below this one.
bool is_init(const std::string& process) {
  const std::string status = read_file(process + "/status", proc_bytes_max).value_or("");
  for (const std::string& line : split(status, '\n')) {
    if (!line.starts_with("NSpid:")) continue;
    const std::vector<std::string> words = split_words(line);
    return words.size() == 3 && words[2] == "1";
  }
  return false;
}

job::Flow disk_of(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (const Result<std::string> text = read_file(folder + "/io.stat"))
      return disk_from_io_stat(*text);
    for (const char* file :
         {"/blkio.throttle.io_service_bytes_recursive", "/blkio.throttle.io_service_bytes"})
      if (const Result<std::string> text = read_file(folder + file)) return disk_from_blkio(*text);
  }
  return {};
}

/// None where the host has the machine's own network.
job::Flow network_of(const std::vector<std::string>& folders, const std::string& proc) {
  struct stat own {
  }, theirs{};
  if (::stat((proc + "/self/ns/net").c_str(), &own) != 0) return {};
  std::size_t tried = 0;
  for (const std::string& folder : folders) {
    const Result<std::string> pids = read_file(folder + "/cgroup.procs", procs_bytes_max);
    if (!pids) continue;
    for (const std::string& pid : split_words(*pids)) {
      if (++tried > processes_tried_max) return {};
      const std::string process = proc + "/" + pid;
      if (!is_init(process)) continue;
      if (::stat((process + "/ns/net").c_str(), &theirs) != 0 || theirs.st_ino == own.st_ino)
        return {};
      const Result<std::string> text = read_file(process + "/net/dev");
      return text ? network_from(*text) : job::Flow{};
    }
  }
  return {};
}

}  // namespace

job::Flow disk_from_io_stat(std::string_view text) {
  job::Flow flow{0, 0};
  for (const std::string& word : split_words(text)) {
    const auto count = [&word](std::string_view key) {
      return word.starts_with(key) ? parse_integer(std::string_view(word).substr(key.size()))
                                   : std::nullopt;
    };
    flow.in += count("rbytes=").value_or(0);
    flow.out += count("wbytes=").value_or(0);
  }
  return flow;
}

job::Flow disk_from_blkio(std::string_view text) {
  job::Flow flow{0, 0};
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() != 3) continue;
    if (words[1] == "Read") flow.in += parse_integer(words[2]).value_or(0);
    if (words[1] == "Write") flow.out += parse_integer(words[2]).value_or(0);
  }
  return flow;
}

job::Flow network_from(std::string_view text, std::string_view interface) {
  job::Flow flow{0, 0};
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = trim(line.substr(0, colon));
    if (interface.empty() ? name == "lo" : name != interface) continue;
    const std::vector<std::string> fields = split_words(line.substr(colon + 1));
    if (fields.size() < 9) continue;
    flow.in += parse_integer(fields[0]).value_or(0);
    flow.out += parse_integer(fields[8]).value_or(0);
  }
  return flow;
}

Counted counted_in(const std::vector<std::string>& folders) {
  Counted counted;
  std::optional<std::int64_t> memory = number(folders, "memory.current");
  if (!memory) memory = number(folders, "memory.usage_in_bytes");
  if (memory) counted.memory_bytes = std::max<std::int64_t>(*memory - idle_cache(folders), 0);
  if (const std::optional<std::int64_t> micros = number(folders, "cpu.stat", "usage_usec"))
    counted.processor_time = std::chrono::microseconds(*micros);
  else if (const std::optional<std::int64_t> nanos = number(folders, "cpuacct.usage"))
    counted.processor_time = std::chrono::microseconds(*nanos / 1000);
  counted.processes = number(folders, "pids.current");
  counted.disk = disk_of(folders);
  return counted;
}

Counted counted_of(const std::vector<pid_t>& processes, const std::string& proc) {
  const std::int64_t tick_us = 1'000'000 / std::max(::sysconf(_SC_CLK_TCK), 1L);
  std::int64_t ticks = 0, pages = 0, found = 0;
  job::Flow disk{0, 0};
  for (const pid_t pid : processes) {
    const std::string folder = proc + "/" + std::to_string(pid);
    const Result<std::string> text = read_file(folder + "/stat", proc_bytes_max);
    if (!text) continue;
    ++found;
    const ProcessStat stat = stat_from(*text);
    ticks += stat.ticks + stat.children_ticks;
    const std::vector<std::string> sizes =
        split_words(read_file(folder + "/statm", proc_bytes_max).value_or(""));
    pages += std::max<std::int64_t>(number_in(sizes, 1) - number_in(sizes, 2), 0);
    for (const std::string& line :
         split(read_file(folder + "/io", proc_bytes_max).value_or(""), '\n')) {
      const std::vector<std::string> words = split_words(line);
      if (words.size() != 2) continue;
      if (words[0] == "read_bytes:") disk.in += number_in(words, 1);
      if (words[0] == "write_bytes:") disk.out += number_in(words, 1);
    }
  }
  return {.memory_bytes = pages * ::sysconf(_SC_PAGESIZE),
          .processor_time = std::chrono::microseconds(ticks * tick_us),
          .processes = found,
          .disk = disk};
}

std::vector<GroupPlace> group_places(std::string_view text, const std::string& mounted) {
  const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  std::vector<GroupPlace> places;
  for (const std::string& line : split(text, '\n')) {  // "4:cpu,cpuacct:/a", "0::/b"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty()) {  // A controller's name leads to its hierarchy, alone or not.
      const std::string root = mounted + "/" + split(controllers, ',').front();
      if (exists(root)) places.push_back({root, std::move(path)});
    } else if (exists(mounted + "/cgroup.controllers")) {
      places.push_back({mounted, std::move(path)});
    } else if (exists(mounted + "/unified")) {
      places.push_back({mounted + "/unified", std::move(path)});
    }
  }
  return places;
}

std::vector<pid_t> processes_of_group(const std::string& folder) {
  std::vector<pid_t> pids;
  const std::string text = read_file(folder + "/cgroup.procs", procs_bytes_max).value_or("");
  for (const std::string& word : split_words(text))
    if (const std::optional<std::int64_t> pid = parse_integer(word);
        pid && pids.size() < group_processes_max)
      pids.push_back(static_cast<pid_t>(*pid));
  return pids;
}

Result<job::Usage> usage_of(const std::string& job, const std::string& host,
                            const std::string& mounted, const std::string& proc) {
  const std::vector<std::string> folders =
      groups(mounted, job::jobs_cgroup + ("/" + job + "/" + host));
  if (folders.empty()) return fail(Errc::closed, host + " has no control group");
  const Counted counted = counted_in(folders);
  if (!counted.memory_bytes || !counted.processor_time || !counted.processes)
    return fail(Errc::unsupported,
                "this machine's kernel does not track memory, CPU time and process counts per "
                "control group");
  return job::Usage{.memory_bytes = *counted.memory_bytes,
                    .processor_time = *counted.processor_time,
                    .processes = *counted.processes,
                    .disk = counted.disk,
                    .network = network_of(folders, proc)};
}

}  // namespace muster::supervise
