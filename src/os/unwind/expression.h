#pragma once

#include <cstdint>
#include <optional>

#include "os/unwind/memory.h"
#include "os/unwind/registers.h"

namespace muster::unwind {

/// What a DWARF expression of call frame information comes to, with `first` on its stack before it
/// begins. None: it is wrong, needs what is not known, or takes more than 1,000 steps.
/// Source: the DWARF standard, version 5, 2.5, without what its 6.4.2 forbids here.
///
/// Pure: reads nothing but `memory`.
std::optional<std::uint64_t> evaluate(Bytes expression, std::optional<std::uint64_t> first,
                                      const Registers& registers, Memory& memory);

}  // namespace muster::unwind
