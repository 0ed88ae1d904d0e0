#include "local/usage.h"

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

}  // namespace

Result<engine::Usage> usage_of(const std::string& job, const std::string& host,
                               const std::string& mounted) {
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
  return engine::Usage{.memory_bytes = *memory,
                       .processor_time = std::chrono::microseconds(*micros),
                       .processes = *processes};
}

}  // namespace muster::local
