#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "os/unwind/memory.h"

namespace muster::unwind {

/// What a loaded program or library says of itself at the place that it is loaded to.
struct Image {
  std::uint64_t bias = 0;    ///< Addresses in memory minus those in the file.
  std::uint64_t header = 0;  ///< The .eh_frame_hdr in memory; 0: missing.
};
/// None if there is no x86-64 ELF file at `base`. Source of all rules here: System V ABI, generic
/// part, chapter 4.
///
/// Pure: reads only `memory`.
std::optional<Image> image_at(Memory& memory, std::uint64_t base);

/// Bytes of a file from an offset on; how many there were.
using FileBytes = std::function<std::size_t(std::uint64_t offset, std::span<std::uint8_t> to)>;

/// What the sections of a program or library say: the names of its functions, and where its call
/// frame information is. Addresses are the file's.
class SectionFacts {
 public:
  struct Function {
    std::string name;  ///< As the linker knows it.
    std::uint64_t begin = 0;
  };

  /// Where there is no ELF file, or a wrong one, nothing is known. At most two million symbols are
  /// read.
  ///
  /// Pure: reads nothing but `bytes`, and later too, for names.
  static SectionFacts from(FileBytes bytes);

  /// The function at an address; of one with several names the plainest.
  std::optional<Function> function_at(std::uint64_t address) const;
  std::size_t symbols_bytes() const { return symbols_.size() * sizeof(Symbol); }
  std::uint64_t frames() const { return frames_; }  ///< .eh_frame; 0: none.
  std::uint64_t frames_bytes() const { return frames_bytes_; }

 private:
  struct Section;
  struct Symbol {
    std::uint64_t begin;
    std::uint32_t bytes;
    std::uint32_t name;  ///< An offset among names.
  };

  void read_symbols(const Section& symbols, const Section& names);
  std::string name_of(const Symbol& symbol) const;

  FileBytes bytes_;
  std::vector<Symbol> symbols_;  ///< By address.
  std::uint64_t names_ = 0, names_bytes_ = 0;
  std::uint64_t frames_ = 0, frames_bytes_ = 0;
};

}  // namespace muster::unwind
