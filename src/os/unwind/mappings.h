#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::unwind {

/// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t offset = 0;  ///< In its file.
  std::string device;
  std::uint64_t inode = 0;
  bool executable = false;
  std::string path;  ///< As the process sees it, or "[vdso]"; may be empty.

  bool same_file(const Mapping& other) const {
    return inode == other.inode && device == other.device && path == other.path;
  }
};

/// By address. Lines that are none are left out; more than 65,536 are not looked at.
///
/// Pure: no I/O.
std::vector<Mapping> mappings_in(std::string_view text);

/// The one that holds `address`; null: none does.
const Mapping* mapping_at(const std::vector<Mapping>& all, std::uint64_t address);

/// Where the file that `mapping` is of begins in memory: the nearest mapping of its first byte at
/// or before it. Null: that is not mapped.
const Mapping* first_of_file(const std::vector<Mapping>& all, const Mapping& mapping);

}  // namespace muster::unwind
