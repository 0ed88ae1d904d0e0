#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace muster::packing {

/// Why a member was left out; empty: it was not.
struct LeftOut {
  std::string why;
  explicit operator bool() const { return !why.empty(); }
};

/// Makes files below one folder and nowhere else.
///
/// Every path is walked here, one name at a time, by openat with O_NOFOLLOW; symbolic links that
/// were made earlier are followed by hand, and only inside. So it holds on every kernel, under
/// every seccomp filter (openat2 does neither), and for links that change in between.
/// Blocks. Errors: `invalid_input` for what cannot be (a file below a file), `system`.
class Tree {
 public:
  using Parts = std::vector<std::string>;
  /// `root`: an open folder, which outlives the tree. `place`: its final path; absolute links to
  /// paths below it count as inside.
  Tree(int root, std::string place, std::size_t depth_max);

  /// A new empty file (0600), open for writing; what had its name, unless a folder, is replaced.
  /// The descriptor is empty where it is refused. Here and below `path` has one name at least.
  Result<std::pair<Fd, LeftOut>> make_file(const Parts& path);
  Result<LeftOut> make_folder(const Parts& path);
  Result<LeftOut> make_link(const Parts& path, const std::string& target);
  /// `target` as the archive has it, relative to the root.
  Result<LeftOut> make_hard_link(const Parts& path, const std::string& target);

  /// Removes the symbolic links that lead outside now that everything is there; their paths. (A
  /// link through a name that became a link itself later on.)
  Result<std::vector<std::string>> remove_strays();

 private:
  struct Walked {
    bool inside = true;
    Parts at;   ///< The path without links.
    Fd folder;  ///< The folder at `at`; empty if nothing, or no folder, is there.
  };
  Result<Fd> open_real(const Parts& path);
  Result<Walked> walk(Parts from, std::deque<std::string> names, bool make);
  Result<void> step(Walked& walked, const std::string& name, bool make,
                    std::deque<std::string>& names, int& links);
  Result<const Walked*> parent_of(const Parts& path);
  Result<void> clear_name(const Walked& parent, const Parts& path);

  int root_;
  Parts place_;
  std::size_t depth_max_;
  Parts cached_;  ///< The path whose folder is `parent_`.
  Walked parent_;
  bool has_parent_ = false;
  std::vector<Parts> links_;  ///< All that were made, without links in their parents.
};

// Shared with image::LayerTree, which walks trees that others can see.

/// A path in one line of text, as shown() of its name.
std::string path_text(const Tree::Parts& path);
/// The names in a path, without "" and ".".
std::deque<std::string> path_names(std::string_view path);
/// Where a symbolic link leads. Error: `system`.
Result<std::string> link_target(int folder, const std::string& name);

}  // namespace muster::packing
