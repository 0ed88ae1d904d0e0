#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "os/unwind/memory.h"
#include "os/unwind/registers.h"

namespace muster::unwind {

/// Where the caller's value of a register is.
struct Rule {
  enum class Kind {
    same,           ///< In that register still, as all are of which nothing is said.
    undefined,      ///< Nowhere.
    at_offset,      ///< In memory at the frame's address plus `offset`.
    is_offset,      ///< The address itself; of the frame's address itself, `in` plus `offset`.
    in_register,    ///< In register `in`.
    at_expression,  ///< In memory where `expression` says.
    is_expression,  ///< What `expression` says.
  };
  Kind kind = Kind::same;
  std::int64_t offset = 0;
  std::uint64_t in = 0;
  Bytes expression{};
};

/// How to get from a function at one of its instructions to its caller.
struct Row {
  Rule frame;  ///< The frame's address (DWARF's CFA): the stack pointer before the call.
  std::array<Rule, Registers::count> registers;
};

/// What call frame information says of one instruction.
struct CallFrame {
  std::vector<std::uint8_t> common, own;  ///< The records (CIE, FDE); `row` points into them.
  Row row;
  std::uint64_t begin = 0;  ///< The function's, or its part's.
  bool is_signal = false;   ///< The kernel's frame: the `pc` of its caller does not follow a call.
};

/// The record for `pc` in the table of an .eh_frame_hdr at `header`; none if it is missing, or in a
/// form that GNU's and LLVM's linkers do not write. Source: Linux Standard Base 5.0, 10.6; DWARF 5,
/// 6.4; System V ABI, AMD64 supplement, 3.7.
///
/// Pure: reads only `memory`.
std::optional<CallFrame> call_frame_by_header(Memory& memory, std::uint64_t header,
                                              std::uint64_t pc);

/// What each function of an .eh_frame begins at, and its record's address; sorted. For programs
/// whose linker wrote no header: static ones. At most so many bytes and records are looked at.
using RecordIndex = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
constexpr std::uint64_t frame_section_bytes_max = 64u << 20;
constexpr std::size_t frame_records_max = 1'000'000;
RecordIndex index_records(Memory& memory, std::uint64_t section, std::uint64_t bytes);
std::optional<CallFrame> call_frame_by_index(Memory& memory, const RecordIndex& index,
                                             std::uint64_t pc);

/// The caller's registers. None: what is needed is not known.
std::optional<Registers> step(const CallFrame& at, const Registers& registers, Memory& memory);

}  // namespace muster::unwind
