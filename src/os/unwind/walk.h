#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "os/unwind/call_frame.h"
#include "os/unwind/memory.h"
#include "os/unwind/registers.h"

namespace muster::unwind {

/// One call on a thread's stack.
struct Frame {
  std::uint64_t pc = 0;        ///< Where execution continues.
  std::uint64_t function = 0;  ///< Where that begins, by call frame information; 0: not known.
  bool is_call = false;        ///< `pc` follows a call instruction, which is the frame's position.
  Registers registers;         ///< As they are in this frame.

  /// An address within the instruction that the frame is at.
  std::uint64_t at() const { return pc - (is_call ? 1 : 0); }
};

struct Walk {
  std::vector<Frame> frames;  ///< The innermost first.
  /// Why it ended where it did not get to the outermost call: a register that was not known.
  bool needs_registers = false;
};

/// What there is of call frame information for an address.
using FrameLookup = std::function<std::optional<CallFrame>(std::uint64_t pc)>;
using IsCode = std::function<bool(std::uint64_t pc)>;

constexpr std::size_t walked_frames_max = 1000;

/// The calls of a thread from its registers on. Where no call frame information is, the frame
/// pointer is followed as long as it leads up the stack and to code. Never goes down the stack.
///
/// Pure: reads nothing but `memory`.
Walk walk(const Registers& registers, Memory& memory, const FrameLookup& lookup,
          const IsCode& is_code);

}  // namespace muster::unwind
