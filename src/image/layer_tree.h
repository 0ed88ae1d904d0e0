#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace muster::image {

/// What a member of a layer has beside its bytes.
struct Attributes {
  uid_t user = 0;
  gid_t group = 0;
  unsigned mode = 0755;  ///< With setuid, setgid and sticky.
  timespec time{};
  std::vector<std::pair<std::string, std::string>> extended{};
};

/// Makes one layer's files below a folder and nowhere else, as an overlay wants them: files of an
/// image with their owners and modes, what lower layers lose as whiteouts.
///
/// Every path is walked a name at a time by openat with O_NOFOLLOW. Symbolic links of the layer, or
/// where it has nothing of those below it, are followed as if the folder were "/".
/// Blocks. Errors: `protocol` for what cannot be (a file below a file), `system`.
class LayerTree {
 public:
  using Parts = std::vector<std::string>;
  /// `root`, and the roots of the layers below, the highest first: open folders that outlive this.
  LayerTree(int root, std::vector<int> lowers);

  // What had the path before, unless both are folders, is replaced. `path` is not empty, but for
  // the folder of the layer itself.
  Result<void> make_folder(const Parts& path, const Attributes& attributes);
  /// A new empty file, open for writing; finish_file() gives it what it has.
  Result<Fd> make_file(const Parts& path);
  Result<void> finish_file(int file, const Parts& path, const Attributes& attributes);
  Result<void> make_link(const Parts& path, const std::string& target,
                         const Attributes& attributes);
  /// Another name for `target`. If only a lower layer has that, it is copied up first, so that both
  /// names stay one file.
  Result<void> make_hard_link(const Parts& path, const Parts& target);
  /// A device or pipe: `type` as S_IFCHR.
  Result<void> make_node(const Parts& path, mode_t type, dev_t device,
                         const Attributes& attributes);
  /// Notes that nothing of lower layers is at `path`.
  void hide(Parts path) { hidden_.push_back(std::move(path)); }
  /// Notes that nothing of lower layers is in this folder.
  void hide_below(Parts folder) { opaque_.insert(std::move(folder)); }

  /// Puts in place what was noted, and times of folders. Call once, last.
  Result<void> finish();

  /// What copies from lower layers took.
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  /// Entries whose owner is nobody in the user namespace of this process: they are its own user's.
  std::uint64_t strangers() const { return strangers_; }

 private:
  struct Place {
    Fd folder;
    Parts at;  ///< The path to it, without links.
  };
  struct Below {
    Fd folder;
    std::string name;
    struct stat status {};
  };
  Result<Fd> open_real(const Parts& at) const;
  Result<Place> walk(const Parts& folders);
  Result<void> step(Place& place, const std::string& name, std::deque<std::string>& names,
                    int& links);
  Result<void> follow(Place& place, const std::string& target, std::deque<std::string>& names,
                      int& links) const;
  Result<const Place*> parent_of(const Parts& path);
  Result<bool> clear_name(const Place& parent, const std::string& name, bool keep_folder);
  Result<std::optional<Below>> below(const Parts& path) const;
  Result<void> copy_up(const Place& parent, const std::string& name, const Below& from);
  Result<void> hide_now(const Parts& path);
  Result<void> hide_all_now();

  int root_;
  std::vector<int> lowers_;
  Parts cached_;  ///< The path whose folder is `parent_`.
  Place parent_;
  bool has_parent_ = false;
  std::vector<Parts> hidden_;
  std::set<Parts> opaque_;
  std::vector<std::pair<Parts, timespec>> times_;  ///< Folders', set last.
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t strangers_ = 0;
};

}  // namespace muster::image
