#include "local/usage.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "job/host_spec.h"

namespace muster::local {
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

/// Pages of files that were not used lately: the kernel takes them back before it runs out, so
/// nobody would say that the host needs them.
std::int64_t idle_cache(const std::vector<std::string>& folders) {
  std::optional<std::int64_t> bytes = number(folders, "memory.stat", "total_inactive_file");
  if (!bytes) bytes = number(folders, "memory.stat", "inactive_file");
  return bytes.value_or(0);
}

/// A host's first process is among the first of its group.
constexpr std::size_t processes_tried_max = 64;
constexpr std::size_t procs_bytes_max = 4u << 20;

/// True for the first process of a host, in whose network the host is whatever others made for
/// themselves: it is process 1 one level below this one.
bool is_init(const std::string& process) {
  const std::string status = read_file(process + "/status", 1u << 16).value_or("");
  for (const std::string& line : split(status, '\n')) {
    if (!line.starts_with("NSpid:")) continue;
    const std::vector<std::string> words = split_words(line);
    return words.size() == 3 && words[2] == "1";
  }
  return false;
}

engine::Flow disk_of(const std::vector<std::string>& folders) {
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
engine::Flow network_of(const std::vector<std::string>& folders, const std::string& proc) {
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
      return text ? network_from(*text) : engine::Flow{};
    }
  }
  return {};
}

}  // namespace

engine::Flow disk_from_io_stat(std::string_view text) {
  engine::Flow flow{0, 0};
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

engine::Flow disk_from_blkio(std::string_view text) {
  engine::Flow flow{0, 0};
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() != 3) continue;
    if (words[1] == "Read") flow.in += parse_integer(words[2]).value_or(0);
    if (words[1] == "Write") flow.out += parse_integer(words[2]).value_or(0);
  }
  return flow;
}

engine::Flow network_from(std::string_view text) {
  engine::Flow flow{0, 0};
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || trim(line.substr(0, colon)) == "lo") continue;
    const std::vector<std::string> fields = split_words(line.substr(colon + 1));
    if (fields.size() < 9) continue;
    flow.in += parse_integer(fields[0]).value_or(0);
    flow.out += parse_integer(fields[8]).value_or(0);
  }
  return flow;
}

Result<engine::Usage> usage_of(const std::string& job, const std::string& host,
                               const std::string& mounted, const std::string& proc) {
  const std::vector<std::string> folders =
      groups(mounted, job::jobs_cgroup + ("/" + job + "/" + host));
  if (folders.empty()) return fail(Errc::closed, host + " has no control group");
  std::optional<std::int64_t> memory = number(folders, "memory.current");
  if (!memory) memory = number(folders, "memory.usage_in_bytes");
  std::optional<std::int64_t> micros = number(folders, "cpu.stat", "usage_usec");
  if (!micros)
    if (const std::optional<std::int64_t> nanos = number(folders, "cpuacct.usage"))
      micros = *nanos / 1000;
  const std::optional<std::int64_t> processes = number(folders, "pids.current");
  if (!memory || !micros || !processes)
    return fail(Errc::unsupported, "this machine does not count memory, processor and processes");
  return engine::Usage{.memory_bytes = std::max<std::int64_t>(*memory - idle_cache(folders), 0),
                       .processor_time = std::chrono::microseconds(*micros),
                       .processes = *processes,
                       .disk = disk_of(folders),
                       .network = network_of(folders, proc)};
}

}  // namespace muster::local
