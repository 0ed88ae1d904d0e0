#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "image/layers/budget.h"

namespace muster::image {

/// A layer entry's attributes other than its content.
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
/// What a name takes besides its bytes, copies from lower layers and processor time count in the
/// image's budget. So does the memory for names that are kept until the end. Used in one thread.
/// Blocks. Errors: `protocol` for what cannot be (a file below a file) or is beyond a limit,
/// `system`.
class LayerTree {
 public:
  using Parts = std::vector<std::string>;
  /// `root`, and the roots of the layers below, the highest first: open folders that, as `budget`
  /// and `meter`, outlive this.
  LayerTree(int root, std::vector<int> lowers, Budget& budget, Meter& meter);

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
  Result<void> hide(const Parts& path);
  /// Notes that nothing of lower layers is in this folder.
  Result<void> hide_below(const Parts& folder);

  /// Puts in place what was noted, and times of folders. Call once, last.
  Result<void> finish();

  /// Entries whose owner is unmapped in this process's user namespace; they get this process's
  /// user.
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
  Result<void> note(std::size_t bytes);
  Result<void> note_time(const Parts& folder, const timespec& time);
  Result<std::optional<Below>> below(const Parts& path) const;
  Result<std::optional<Below>> below(int lower, const Parts& path, bool& ends) const;
  Result<void> copy_up(const Place& parent, const std::string& name, const Below& from);
  Result<void> hide_now(const Parts& path);
  Result<void> hide_all_now();

  int root_;
  std::vector<int> lowers_;
  Budget& budget_;
  Meter& meter_;
  Parts cached_;  ///< The path whose folder is `parent_`.
  Place parent_;
  bool has_parent_ = false;
  // Paths, their parts joined by '/'.
  std::set<std::string> hidden_;
  std::set<std::string, std::less<>> opaque_;
  std::map<std::string, timespec> times_;  ///< Folders', set last.
  std::size_t noted_bytes_ = 0;            ///< Memory that these three take.
  std::uint64_t strangers_ = 0;
};

}  // namespace muster::image
