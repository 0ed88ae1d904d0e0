#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster {

/// Opens entries below a folder in which others may rename, replace and link entries meanwhile.
/// Each path is walked part by part and no link is followed, so nothing outside the folder is
/// opened. Keeps the folder of the last path open: most paths have the same folder as the previous
/// one.
///
/// Paths are names with a '/' between them, as listings return them; "" is the folder itself.
class Below {
 public:
  /// `top`: an open folder (O_PATH is enough), which outlives this.
  explicit Below(int top) : top_(top) {}

  /// The folder at `path`, for the functions that end in "at"; valid until the next call. Returns
  /// -1, with errno set, on failure: ENOTDIR for a link.
  int folder(std::string_view path);
  /// Opens the entry at `path` with the flags of open(2), to which this adds O_NOFOLLOW. Returns an
  /// empty Fd, with errno set, on failure.
  Fd open(std::string_view path, int flags);

 private:
  int top_;
  std::string path_;
  Fd at_;  ///< The folder at `path_`; empty if `path_` is.
};

}  // namespace muster
