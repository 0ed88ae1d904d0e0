#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace muster::unwind {

/// x86-64's registers, by DWARF's numbers (System V ABI, AMD64 supplement, figure 3.36). The last
/// is the return address, where the frame's code continues.
struct Registers {
  static constexpr std::size_t count = 17;
  static constexpr unsigned rbx = 3, rbp = 6, rsp = 7, pc = 16;

  std::array<std::uint64_t, count> values{};
  std::bitset<count> known;

  std::optional<std::uint64_t> get(std::uint64_t number) const {
    if (number >= count || !known[static_cast<std::size_t>(number)]) return std::nullopt;
    return values[static_cast<std::size_t>(number)];
  }
  void set(std::size_t number, std::optional<std::uint64_t> value) {
    known[number] = value.has_value();
    values[number] = value.value_or(0);
  }
};

}  // namespace muster::unwind
