#include "os/supervise/process_stat.h"

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster::supervise {
namespace {

constexpr std::size_t stat_bytes_max = 1u << 16;

}  // namespace

ProcessStat stat_from(std::string_view text) {
  // The command's name, in brackets, may hold anything: the fields begin behind the last one.
  const std::vector<std::string> fields = split_words(text.substr(text.rfind(')') + 1));
  const auto field = [&](std::size_t number) {  // As proc(5) counts.
    return fields.size() > number - 3 ? parse_integer(fields[number - 3]).value_or(0) : 0;
  };
  return {.state = fields.empty() || fields[0].size() != 1 ? '?' : fields[0][0],
          .parent = field(4),
          .faults = field(10) + field(12),
          .ticks = field(14) + field(15),
          .children_ticks = field(16) + field(17),
          .threads = field(20),
          .started = field(22)};
}

std::optional<ProcessStat> stat_of(pid_t pid) {
  const Result<std::string> text =
      read_file("/proc/" + std::to_string(pid) + "/stat", stat_bytes_max);
  if (!text) return std::nullopt;
  return stat_from(*text);
}

}  // namespace muster::supervise
