#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace muster::unwind {

using Bytes = std::span<const std::uint8_t>;

/// What a process has at its addresses, or a copy of that.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  /// False, and any bytes in `to`, unless all of them are there.
  virtual bool read(std::uint64_t address, std::span<std::uint8_t> to) = 0;

  /// A number as x86-64 stores it.
  template <class Number>
  std::optional<Number> load(std::uint64_t address) {
    Number number{};
    if (!read(address, {reinterpret_cast<std::uint8_t*>(&number), sizeof number}))
      return std::nullopt;
    return number;
  }
};

}  // namespace muster::unwind
