#include "os/unwind/expression.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "os/unwind/cursor.h"

namespace muster::unwind {
namespace {

constexpr int steps_max = 1000;
constexpr std::size_t stack_max = 64;

// DWARF 5, table 7.9.
enum : std::uint8_t {
  op_addr = 0x03,
  op_deref = 0x06,
  op_const1u = 0x08,
  op_const1s,
  op_const2u,
  op_const2s,
  op_const4u,
  op_const4s,
  op_const8u,
  op_const8s,
  op_constu,
  op_consts,
  op_dup,
  op_drop,
  op_over,
  op_pick,
  op_swap,
  op_rot,
  op_abs = 0x19,
  op_and,
  op_div,
  op_minus,
  op_mod,
  op_mul,
  op_neg,
  op_not,
  op_or,
  op_plus,
  op_plus_uconst,
  op_shl,
  op_shr,
  op_shra,
  op_xor,
  op_bra,
  op_eq,
  op_ge,
  op_gt,
  op_le,
  op_lt,
  op_ne,
  op_skip,
  op_lit0,
  op_breg0 = 0x70,
  op_bregx = 0x92,
  op_deref_size = 0x94,
  op_nop = 0x96,
};

class Machine {
 public:
  Machine(Bytes code, const Registers& registers, Memory& memory)
      : code_(code, 0), registers_(registers), memory_(memory) {}

  std::optional<std::uint64_t> run(std::optional<std::uint64_t> first) {
    if (first) push(*first);
    for (int steps = 0; !code_.at_end(); ++steps)
      if (steps == steps_max || !step(code_.number<std::uint8_t>()) || !ok_) return std::nullopt;
    if (!code_.ok() || stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  bool step(std::uint8_t op) {
    if (op >= op_lit0 && op < op_lit0 + 32) return push(static_cast<std::uint64_t>(op - op_lit0));
    if (op >= op_breg0 && op < op_breg0 + 32) return push_register(op - op_breg0);
    if (op == op_bregx) return push_register(code_.uleb());
    if (op >= op_const1u && op <= op_consts) return push(constant(op));
    if (op >= op_dup && op <= op_rot) return move(op);
    if (op >= op_eq && op <= op_ne) return compare(op);
    switch (op) {
      case op_nop:
        return true;
      case op_addr:
        return push(code_.number<std::uint64_t>());
      case op_deref:
        return push_memory(8);
      case op_deref_size:
        return push_memory(code_.number<std::uint8_t>());
      case op_skip:
        code_.skip(code_.number<std::int16_t>());
        return true;
      case op_bra: {
        const std::int16_t by = code_.number<std::int16_t>();
        if (pop() != 0) code_.skip(by);
        return true;
      }
      default:
        return calculate(op);
    }
  }

  std::uint64_t constant(std::uint8_t op) {
    const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    switch (op) {
      case op_const1u:
        return code_.number<std::uint8_t>();
      case op_const1s:
        return wide(code_.number<std::int8_t>());
      case op_const2u:
        return code_.number<std::uint16_t>();
      case op_const2s:
        return wide(code_.number<std::int16_t>());
      case op_const4u:
        return code_.number<std::uint32_t>();
      case op_const4s:
        return wide(code_.number<std::int32_t>());
      case op_constu:
        return code_.uleb();
      case op_consts:
        return wide(code_.sleb());
      default:
        return code_.number<std::uint64_t>();
    }
  }

  bool move(std::uint8_t op) {
    switch (op) {
      case op_dup:
        return push(peek(0));
      case op_drop:
        pop();
        return true;
      case op_over:
        return push(peek(1));
      case op_pick:
        return push(peek(code_.number<std::uint8_t>()));
      default: {
        const std::size_t moved = op == op_swap ? 2 : 3;
        if (stack_.size() < moved) return false;
        std::rotate(stack_.end() - static_cast<std::ptrdiff_t>(moved), stack_.end() - 1,
                    stack_.end());
        return true;
      }
    }
  }

  bool compare(std::uint8_t op) {
    const auto b = static_cast<std::int64_t>(pop());
    const auto a = static_cast<std::int64_t>(pop());
    switch (op) {
      case op_eq:
        return push(a == b);
      case op_ge:
        return push(a >= b);
      case op_gt:
        return push(a > b);
      case op_le:
        return push(a <= b);
      case op_lt:
        return push(a < b);
      default:
        return push(a != b);
    }
  }

  bool calculate(std::uint8_t op) {
    const std::uint64_t top = pop();
    switch (op) {
      case op_abs:
        return push(top >> 63 ? 0 - top : top);
      case op_neg:
        return push(0 - top);
      case op_not:
        return push(~top);
      case op_plus_uconst:
        return push(top + code_.uleb());
      default:
        return calculate(op, pop(), top);
    }
  }

  bool calculate(std::uint8_t op, std::uint64_t a, std::uint64_t b) {
    const auto as_signed = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    switch (op) {
      case op_and:
        return push(a & b);
      case op_or:
        return push(a | b);
      case op_xor:
        return push(a ^ b);
      case op_plus:
        return push(a + b);
      case op_minus:
        return push(a - b);
      case op_mul:
        return push(a * b);
      case op_div: {
        const bool overflows =
            as_signed(a) == std::numeric_limits<std::int64_t>::min() && as_signed(b) == -1;
        return b != 0 && !overflows &&
               push(static_cast<std::uint64_t>(as_signed(a) / as_signed(b)));
      }
      case op_mod:
        return b != 0 && push(a % b);
      case op_shl:
        return push(b < 64 ? a << b : 0);
      case op_shr:
        return push(b < 64 ? a >> b : 0);
      case op_shra:
        return push(static_cast<std::uint64_t>(as_signed(a) >> std::min<std::uint64_t>(b, 63)));
      default:
        return false;
    }
  }

  bool push_register(std::uint64_t number) {
    const std::int64_t offset = code_.sleb();
    const std::optional<std::uint64_t> value = registers_.get(number);
    return value && push(*value + static_cast<std::uint64_t>(offset));
  }
  bool push_memory(std::uint8_t size) {
    std::uint64_t value = 0;
    if (size == 0 || size > sizeof value) return false;
    return memory_.read(pop(), {reinterpret_cast<std::uint8_t*>(&value), size}) && push(value);
  }

  bool push(std::uint64_t value) {
    if (stack_.size() == stack_max) return false;
    stack_.push_back(value);
    return true;
  }
  std::uint64_t peek(std::size_t below) {
    ok_ = ok_ && below < stack_.size();
    return ok_ ? stack_[stack_.size() - 1 - below] : 0;
  }
  std::uint64_t pop() {
    const std::uint64_t value = peek(0);
    if (ok_) stack_.pop_back();
    return value;
  }

  Cursor code_;
  const Registers& registers_;
  Memory& memory_;
  std::vector<std::uint64_t> stack_;
  bool ok_ = true;
};

}  // namespace

std::optional<std::uint64_t> evaluate(Bytes expression, std::optional<std::uint64_t> first,
                                      const Registers& registers, Memory& memory) {
  return Machine(expression, registers, memory).run(first);
}

}  // namespace muster::unwind
