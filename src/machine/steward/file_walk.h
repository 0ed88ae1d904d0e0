#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace muster::steward {

/// Identifies the content of a regular file at one time: if the stamp differs, the content may
/// differ.
struct Stamp {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;

  bool operator==(const Stamp&) const = default;
};
Stamp stamp_of(const struct stat& status);

/// Opens an entry below `root` without following any link in its path. Empty beyond
/// FileWalk::depth_max folders.
Fd open_below(int root, const std::string& relative, int flags);

/// The folders and regular files below a folder, one at a time, while others may write there. No
/// link is followed. Memory and descriptors grow only with the depth, which is limited. Blocks.
class FileWalk {
 public:
  static constexpr int depth_max = 64;

  struct Found {
    std::string path;  ///< Below the root.
    bool is_folder = false;
    bool is_too_deep = false;  ///< A folder whose content is skipped.
    Stamp stamp{};             ///< A file's.
  };

  /// Starts at `start`, "" or a folder below `root`, which is itself returned. `root` outlives
  /// this.
  FileWalk(int root, std::string start);
  /// Returns nothing at the end. A folder is opened by the next call, not by the call that returned
  /// it.
  std::optional<Found> next();

 private:
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  struct Level {
    std::unique_ptr<DIR, Close> stream;
    std::size_t path_bytes = 0;
  };
  void enter();
  std::optional<Found> found(const struct stat& status);

  const int root_;
  std::string path_;
  std::vector<Level> levels_;
  bool begun_ = false;
  bool is_to_enter_ = false;  ///< The next call opens the folder `path_`.
};

}  // namespace muster::steward
