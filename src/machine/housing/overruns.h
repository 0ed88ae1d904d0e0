#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster::steward {

/// "5 GiB", "1.5 GiB", "96 MiB". Pure.
std::string size_text(std::int64_t bytes);

/// A file system's space in bytes and files (0 files: it does not count them).
struct Space {
  std::int64_t bytes = 0;
  std::int64_t bytes_free = 0;
  std::int64_t files = 0;
  std::int64_t files_free = 0;
};
enum class Full { no, bytes, files };
/// Whether it is full: less than a hundredth is free. If a program has just reported a lack of
/// space (`told`), less than a tenth is enough, because the program's data did not fit. Pure.
Full fullness(const Space& space, bool told);

/// True for text in which a program reports a lack of space: errno's words, Python's, a failed
/// mapping of shared memory. Pure.
bool tells_of_no_room(std::string_view text);

/// True for text in which a program reports too many open files. Pure.
bool tells_of_open_files(std::string_view text);

/// Finds out which of a host's limited file systems were full when it failed. The kernel does not
/// count refusals, and a failing program may delete its files. So the file systems are checked
/// while it runs, when it reports a lack of space, and at its end.
class FullPlaces {
 public:
  /// Watches the file system of `folder`. found() reports it as "`name`: `size` full", followed by
  /// " (no inodes left)" if it can hold no more files.
  void watch(const std::string& name, std::string size, Fd folder);
  /// `told`: a program reported a lack of space.
  void look(bool told);
  std::vector<std::string> found() const;
  /// Closes the file systems; the findings stay.
  void close();

 private:
  struct Place {
    std::string name;
    std::string size;
    Fd folder;
    Space least{};  ///< The least free space at any check.
  };
  std::vector<Place> places_;
  bool told_ = false;
};

}  // namespace muster::steward
