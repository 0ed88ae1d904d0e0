#pragma once

#include <string>

#include "base/fd.h"

namespace muster::packing {

/// True if `folder` has entries other than leftovers of a killed Staging. Error: as opendir.
Result<bool> is_occupied(const std::string& folder);

/// A private folder inside an empty one, where files are assembled before they appear in it. Inside
/// rather than next to it: the code folder may be a mount, and its parent may be read-only. Removed
/// with its remaining content when this leaves scope; the next one removes leftovers of a killed
/// one. Blocks.
class Staging {
 public:
  /// Errors: `invalid_input` (not empty, or another process is at it), `not_found`, `denied`,
  /// `system`.
  static Result<Staging> open(const std::string& folder);
  Staging(Staging&& other) noexcept = default;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  int fd() const { return fd_.get(); }
  std::string path() const { return folder_ + "/" + name_; }
  /// The folder's path, links resolved.
  const std::string& folder() const { return folder_; }
  /// Moves everything in it up into the folder. On an error nothing of it stays there.
  Result<void> move_in();

 private:
  Staging(std::string folder, std::string name, Fd outer, Fd fd)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        outer_(std::move(outer)),
        fd_(std::move(fd)) {}

  std::string folder_;
  std::string name_;
  Fd outer_;
  Fd fd_;
};

}  // namespace muster::packing
