#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace muster {

/// The machine's memory, whatever limits this process has. 0: unknown.
struct MachineMemory {
  std::int64_t bytes = 0;
  std::int64_t available_bytes = 0;  ///< The kernel's estimate for new programs, without swapping.
};

/// `meminfo`: the text of /proc/meminfo, see proc_meminfo(5). Pure.
MachineMemory machine_memory_in(std::string_view meminfo);
/// Reads /proc/meminfo. Error: `system`.
Result<MachineMemory> machine_memory();

}  // namespace muster
