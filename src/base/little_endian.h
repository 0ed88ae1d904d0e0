#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

/// Numbers of 1 to 8 bytes in muster's messages and files: least significant byte first.

/// `bytes` must hold at least `at + width` bytes.
inline std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

/// Overwrites bytes; `bytes` must hold at least `at + width` of them.
inline void set_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i)
    bytes[at + i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

inline void append_number(std::string& bytes, std::uint64_t value, std::size_t width) {
  bytes.resize(bytes.size() + width);
  set_number(bytes, bytes.size() - width, value, width);
}

}  // namespace muster
