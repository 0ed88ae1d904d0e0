#include "os/supervise/oom.h"

#include <csignal>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster::supervise {
namespace {

/// The number behind "oom_kill" in a file of "name number" lines.
std::optional<std::uint64_t> counter_in(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  for (const std::string& line : split(*text, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() != 2 || words[0] != "oom_kill") continue;
    const std::optional<std::int64_t> number = parse_integer(words[1]);
    if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  }
  return std::nullopt;
}

/// The file of the group at `path`. What a container mounts may be its own group alone, while
/// /proc/self/cgroup names it as the machine does: then it is the file at the top.
std::optional<std::uint64_t> counter_of(const std::string& root, const std::string& path,
                                        const std::string& file) {
  const std::string folder = root + (path == "/" ? "" : path);
  const std::optional<std::uint64_t> own = counter_in(folder + "/" + file);
  return own ? own : counter_in(root + "/" + file);
}

}  // namespace

std::optional<std::uint64_t> oom_kills(const std::string& own_cgroup, const std::string& root) {
  const Result<std::string> groups = read_file(own_cgroup);
  if (!groups) return std::nullopt;
  for (const std::string& line : split(*groups, '\n')) {
    // "0::/path" of version 2; "4:memory:/path" of version 1.
    const std::size_t first = line.find(':');
    const std::size_t second =
        first == std::string::npos ? std::string::npos : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    std::optional<std::uint64_t> count;
    if (second == first + 1) {
      count = counter_of(root, path, "memory.events");
    } else {
      for (const std::string& controller : split(line.substr(first + 1, second - first - 1), ','))
        if (controller == "memory")
          count = counter_of(root + "/memory", path, "memory.oom_control");
    }
    if (count) return count;
  }
  return std::nullopt;
}

bool OomWatch::struck() const {
  const std::optional<std::uint64_t> now = oom_kills();
  return at_start_ && now && *now > *at_start_;
}

bool OomWatch::explains(const job::Outcome& outcome) const {
  const job::Outcome::Kind by_itself = job::Outcome::Kind::exited;
  const int number = outcome.kind == by_itself ? outcome.number - 128 : outcome.number;
  const bool killed = outcome.kind == by_itself || outcome.kind == job::Outcome::Kind::signaled;
  return killed && number == SIGKILL && struck();
}

}  // namespace muster::supervise
