#include "os/unwind/walk.h"

namespace muster::unwind {
namespace {

/// How far a frame pointer may lead at once: a frame is not larger.
constexpr std::uint64_t frame_bytes_max = 8u << 20;

/// The caller by the frame pointer: it points at its older self, the return address behind.
std::optional<Registers> step_by_pointer(const Registers& at, Memory& memory,
                                         const IsCode& is_code) {
  const std::optional<std::uint64_t> pointer = at.get(Registers::rbp);
  const std::optional<std::uint64_t> stack = at.get(Registers::rsp);
  if (!pointer || !stack || *pointer < *stack || *pointer - *stack > frame_bytes_max)
    return std::nullopt;
  const std::optional<std::uint64_t> older = memory.load<std::uint64_t>(*pointer);
  const std::optional<std::uint64_t> pc = memory.load<std::uint64_t>(*pointer + 8);
  if (!older || !pc || !is_code(*pc)) return std::nullopt;
  Registers caller;
  caller.set(Registers::rbp, *older);
  caller.set(Registers::rsp, *pointer + 16);
  caller.set(Registers::pc, *pc);
  return caller;
}

/// The caller of a function that has just been called: nothing of the function is on the stack yet.
/// The same holds after a call to an address that is not code.
std::optional<Registers> step_by_return(const Registers& at, Memory& memory,
                                        const IsCode& is_code) {
  const std::optional<std::uint64_t> stack = at.get(Registers::rsp);
  const std::optional<std::uint64_t> pc = stack ? memory.load<std::uint64_t>(*stack) : std::nullopt;
  if (!pc || !is_code(*pc)) return std::nullopt;
  Registers caller = at;
  caller.set(Registers::rsp, *stack + 8);
  caller.set(Registers::pc, *pc);
  return caller;
}

}  // namespace

Walk walk(const Registers& registers, Memory& memory, const FrameLookup& lookup,
          const IsCode& is_code) {
  Walk walk;
  Registers at = registers;
  bool is_call = false;
  while (walk.frames.size() < walked_frames_max) {
    const std::optional<std::uint64_t> pc = at.get(Registers::pc);
    const std::optional<std::uint64_t> stack = at.get(Registers::rsp);
    if (!pc || *pc == 0 || !stack) break;
    Frame& frame = walk.frames.emplace_back(
        Frame{.pc = *pc, .function = 0, .is_call = is_call, .registers = at});
    const std::optional<CallFrame> known = lookup(frame.at());
    std::optional<Registers> caller;
    is_call = true;
    if (known) {
      frame.function = known->begin;
      caller = step(*known, at, memory);
      walk.needs_registers = !caller;
      is_call = !known->is_signal;
    } else {
      caller = step_by_pointer(at, memory, is_code);
      if (!caller && walk.frames.size() == 1) caller = step_by_return(at, memory, is_code);
      walk.needs_registers = !caller && !at.get(Registers::rbp);
    }
    if (!caller) break;
    // A signal's handler may run on a stack of its own, which may be above.
    const std::optional<std::uint64_t> next = caller->get(Registers::rsp);
    if (!next || (is_call && *next <= *stack)) break;
    at = *caller;
  }
  return walk;
}

}  // namespace muster::unwind
