#include "base/process/machine_memory.h"

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

MachineMemory machine_memory_in(std::string_view meminfo) {
  MachineMemory memory;
  for (const std::string& line : split(meminfo, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() != 3 || words[2] != "kB") continue;
    const std::int64_t bytes = parse_integer(words[1]).value_or(0) << 10;
    if (words[0] == "MemTotal:") memory.bytes = bytes;
    if (words[0] == "MemAvailable:") memory.available_bytes = bytes;
  }
  return memory;
}

Result<MachineMemory> machine_memory() {
  return machine_memory_in(TRY(read_file("/proc/meminfo")));
}

}  // namespace muster
