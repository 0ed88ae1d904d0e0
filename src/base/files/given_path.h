#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/files/clean_tree.h"
#include "base/result.h"

namespace muster {

/// Paths that a person gives to muster. They may lead through folders that other users can write:
/// a link that one of them puts there must not lead muster, which may be root, somewhere else.

/// The parts of an absolute path that are still to be walked. Pure.
class WayToGo {
 public:
  /// As many as the kernel follows. Source: path_resolution(7).
  static constexpr int links_max = 40;

  explicit WayToGo(const std::string& path);

  /// Takes the next part: a name or "..". None at the end.
  std::optional<std::string> next();
  /// The part that was taken last is a link: the parts of its target are walked first. False
  /// without any change if this is one link too many.
  bool follow(const std::string& target);
  /// True if the part that was taken last is from a link's target.
  bool is_in_link() const { return is_in_link_; }
  /// The parts that are left, each after a '/': "/a/b".
  std::string rest() const;

 private:
  std::deque<std::string> parts_;
  std::size_t of_links_ = 0;  ///< How many of the first parts are from links' targets.
  bool is_in_link_ = false;
  int links_ = 0;
};

/// A path, or as much of it as exists, held by a descriptor.
struct GivenPath {
  Fd held;                             ///< O_PATH; a folder if parts are missing.
  std::string path;                    ///< Leads to `held`: absolute, without links, "." and "..".
  std::vector<std::string> missing{};  ///< Names below `held` that do not exist yet.

  /// The path with its missing parts.
  std::string whole() const;
};

/// The user whose links are followed, besides root; none: links of all users.
using LinkOwner = std::optional<uid_t>;

/// Walks an absolute path part by part. It follows links that belong to root or to `caller`, at
/// most WayToGo::links_max of them, and no others. Errors: `unsupported` for another user's link,
/// with its path, its owner and the path to use instead, and for too many links; `not_found` for a
/// link that leads nowhere; `invalid_input` for a file where a folder is expected; `denied`,
/// `system`.
Result<GivenPath> walk_given(const std::string& path, LinkOwner caller = ::geteuid());
/// Walks as above; each folder on the way has to pass `check`, whose error ends the walk.
using CheckFolder = std::function<Result<void>(const Fd& folder, const std::string& path)>;
Result<GivenPath> walk_given(const std::string& path, LinkOwner caller, const CheckFolder& check);

/// As walk_given(), of a path that exists and may be relative. Errors: also `not_found`.
Result<GivenPath> find_given(const std::string& path, LinkOwner caller = ::geteuid());
/// As above, of a path below a folder that is held, wherever that folder is by now.
Result<GivenPath> find_given(const GivenPath& folder, const std::string& below,
                             LinkOwner caller = ::geteuid());

/// The plain file that is held, open for reading. Error: `invalid_input` for anything else.
Result<Fd> open_file(const GivenPath& given);
/// As find_given(), of a folder or a plain file; open for reading. Errors: also `invalid_input` for
/// anything else.
Result<Fd> open_given_folder(const std::string& path, LinkOwner caller = ::geteuid());
Result<Fd> open_given_file(const std::string& path, LinkOwner caller = ::geteuid());
Result<Fd> open_given_file(const GivenPath& folder, const std::string& below,
                           LinkOwner caller = ::geteuid());

/// The whole file, or what comes through a pipe. Errors: as walk_given() and read_file().
Result<std::string> read_given(const std::string& path, std::size_t bytes_max = 64u << 20,
                               LinkOwner caller = ::geteuid());

/// As write_file(): replaces the file at `path`, which may be relative; also a link there. Errors:
/// as walk_given() of its folder, and write_file().
Result<void> write_given(const std::string& path, std::string_view text,
                         LinkOwner caller = ::geteuid());

/// Makes the missing folders, which become `owner`'s if one is given. Returns the folder, open for
/// reading. Follows no link that has appeared since. Errors: `denied`, `system`, `not_found`.
Result<Fd> make_given_folder(const GivenPath& given, const std::optional<Owner>& owner,
                             unsigned mode = 0755);

/// A path of this process's that leads to what `held` has open, wherever that is by now.
std::string held_path(const Fd& held);

}  // namespace muster
