#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "os/unwind/memory.h"

namespace muster::unwind {

/// Reads DWARF's numbers one behind the other. Once a read went beyond the end all later ones give
/// 0 and nothing, and `ok` is false: callers ask at the end.
///
/// Pure: no I/O.
class Cursor {
 public:
  /// `address`: address in the process of the first of `bytes`.
  Cursor(Bytes bytes, std::uint64_t address) : bytes_(bytes), address_(address) {}

  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || at_ == bytes_.size(); }
  /// Address in the process of the next byte.
  std::uint64_t address() const { return address_ + at_; }

  template <class Number>
  Number number() {
    Number number{};
    const Bytes found = take(sizeof number);
    if (ok_) std::memcpy(&number, found.data(), sizeof number);
    return number;
  }
  /// The next `count` bytes; empty if there are not so many.
  Bytes take(std::uint64_t count) {
    if (!ok_ || count > bytes_.size() - at_) {
      ok_ = false;
      return {};
    }
    const Bytes found = bytes_.subspan(at_, static_cast<std::size_t>(count));
    at_ += static_cast<std::size_t>(count);
    return found;
  }
  /// What is left, without taking it.
  Bytes rest() const { return ok_ ? bytes_.subspan(at_) : Bytes(); }
  /// Goes `by` bytes on, or back.
  void skip(std::int64_t by) {
    const std::int64_t at = static_cast<std::int64_t>(at_) + by;
    ok_ = ok_ && at >= 0 && at <= static_cast<std::int64_t>(bytes_.size());
    if (ok_) at_ = static_cast<std::size_t>(at);
  }

  /// LEB128; bits beyond 64 are dropped.
  std::uint64_t uleb() { return leb().value; }
  std::int64_t sleb() {
    const Leb found = leb();
    std::uint64_t value = found.value;
    if (found.negative && found.bits < 64) value |= ~std::uint64_t{0} << found.bits;
    return static_cast<std::int64_t>(value);
  }
  /// Up to a NUL, which is taken too.
  std::string text() {
    std::string found;
    while (const char c = number<char>()) found += c;
    return found;
  }

 private:
  struct Leb {
    std::uint64_t value = 0;
    unsigned bits = 0;
    bool negative = false;
  };
  Leb leb() {
    Leb found;
    while (ok_) {
      const std::uint8_t byte = number<std::uint8_t>();
      if (found.bits < 64) found.value |= static_cast<std::uint64_t>(byte & 0x7f) << found.bits;
      found.bits += 7;
      found.negative = (byte & 0x40) != 0;
      if ((byte & 0x80) == 0) break;
    }
    return found;
  }

  Bytes bytes_;
  std::uint64_t address_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace muster::unwind
