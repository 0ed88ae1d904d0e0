#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/files/below.h"
#include "os/packing/entry_list.h"

namespace muster::packing {

/// A tar archive as it will be, byte for byte, before any of it is made: its parts can be made in
/// any order, by many threads.
///
/// Pure but for read(). Source: POSIX.1-2017, pax: ustar headers, pax records for what does not
/// fit (long names, sizes from 8 GiB).
class TarPlan {
 public:
  /// `entries` from walk_trees(), with the name of their root before their paths;
  /// `roots[entry.root]` has their files. Error: that of the disk with the list; `invalid_input`
  /// for a path of more than 4095 bytes.
  static Result<TarPlan> make(EntryList entries, std::vector<Root> roots);

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t entries() const { return entries_.size(); }
  /// Puts the archive from `offset` on to `into`; how many bytes: fewer at its end only. Blocks.
  /// Error: `system`, `invalid_input` with the path: a file that is shorter than it was.
  Result<std::size_t> read(std::uint64_t offset, std::span<char> into) const;

 private:
  /// Where the header of an entry begins, in the archive and in the list.
  struct Start {
    std::uint64_t offset;
    std::uint64_t place;
  };
  TarPlan(EntryList entries, std::vector<Root> roots)
      : entries_(std::move(entries)), roots_(std::move(roots)) {}
  /// The folder of the last entry, whose root has this number.
  struct Last {
    std::size_t root;
    Below below;
  };
  Fd open(const TreeEntry& entry, std::optional<Last>& last) const;
  Result<void> read_entry(const TreeEntry& entry, const std::string& header, std::uint64_t from,
                          std::uint64_t to, char* into, std::optional<Last>& last) const;

  EntryList entries_;
  std::vector<Root> roots_;
  std::vector<Start> starts_;  ///< One for some entries each.
  std::uint64_t bytes_ = 0;
};

/// The headers of one entry in an archive.
struct TarEntry {
  enum class Kind : char {
    file = '0',
    hard_link = '1',
    link = '2',
    character_device = '3',
    block_device = '4',
    folder = '5',
    fifo = '6',
  };
  std::string path;  ///< Without a '/' at the end.
  Kind kind = Kind::file;
  unsigned mode = 0644;
  std::uint64_t user = 0;
  std::uint64_t group = 0;
  std::int64_t time = 0;      ///< Seconds since 1970 of the last change,
  std::int64_t time_ns = 0;   ///< and the rest of it.
  std::uint64_t bytes = 0;    ///< What follows; a file's alone.
  std::string target{};       ///< What a link names.
  unsigned device_major = 0;  ///< A device's.
  unsigned device_minor = 0;
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< Extended ones.
};

/// The header of one entry, pax records before it included: a multiple of 512 bytes. Extended
/// attributes are records of the name SCHILY.xattr.NAME, as star writes and all others read them.
/// Pure.
std::string tar_header(const TarEntry& entry);
/// The header of a tree's entry, with root as its owner.
std::string tar_header(const TreeEntry& entry);

/// What follows so many bytes of an entry, up to the next header.
std::uint64_t tar_padding(std::uint64_t bytes);
/// Zeros behind the last entry.
inline constexpr std::size_t tar_end_bytes = 1024;

}  // namespace muster::packing
