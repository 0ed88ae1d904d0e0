#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "os/packing/listing.h"

namespace muster::packing {

/// Entries in the order in which they were added, read again from any of many places. Each takes
/// what its path does not share with the one before, and what is more than a MiB lies in a file: a
/// stranger's tree of a million long names takes no memory.
class EntryList {
 public:
  /// `spill`: the folder whose disk takes the rest, in a file without a name. Empty: memory does.
  explicit EntryList(std::string spill = {}) : spill_(std::move(spill)) {}

  /// Error: the disk's.
  Result<void> add(const TreeEntry& entry);
  std::uint64_t size() const { return count_; }

  /// Reads entries in their order; several may read at once, while none is added.
  class Cursor {
   public:
    /// From the place of an entry that was said by at_start().
    explicit Cursor(const EntryList& list, std::uint64_t place = 0) : list_(list), place_(place) {}
    /// False at the end. Error: the disk's.
    Result<bool> next(TreeEntry& into);
    /// True if a cursor may begin at the next entry: one of 64.
    bool is_start() const { return read_ % run == 0; }
    std::uint64_t place() const { return place_ + used_; }

   private:
    Result<std::string_view> take(std::size_t bytes);

    const EntryList& list_;
    std::uint64_t place_;   ///< Where `held_` begins.
    std::string held_;      ///< Bytes that were read ahead.
    std::size_t used_ = 0;  ///< How many of them are read.
    std::uint64_t read_ = 0;
    std::string path_;
  };

 private:
  static constexpr std::uint64_t run = 64;  ///< Entries from one whole path to the next.

  Result<void> write_out();
  Result<void> read(std::uint64_t place, std::string& into) const;

  std::string spill_;
  Fd file_;
  std::uint64_t file_bytes_ = 0;
  std::string rest_;  ///< What follows the file's.
  std::uint64_t count_ = 0;
  std::string last_path_;
};

}  // namespace muster::packing
