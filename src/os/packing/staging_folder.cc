#include "os/packing/staging_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::packing {
namespace {

constexpr std::string_view prefix = ".muster-unpack-";

/// The rest of a Staging whose process was killed goes; that of a living one is its own.
Result<void> remove_rest(int outer, const std::string& name) {
  const Fd folder = open_folder(outer, name);
  if (!folder || ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Errc::invalid_input, "another process is copying the job's code to this folder");
  static_cast<void>(remove_tree_at(outer, name));
  return {};
}

}  // namespace

Result<bool> is_occupied(const std::string& folder) {
  const Fd open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!open) return fail_errno("cannot open " + folder);
  for (const std::string& name : TRY(names_in(open.get(), folder)))
    if (!name.starts_with(prefix)) return true;
  return false;
}

Result<Staging> Staging::open(const std::string& folder) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(folder.c_str(), nullptr), std::free);
  if (!real) return fail_errno("cannot open " + folder);
  Fd outer(::open(real.get(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!outer) return fail_errno("cannot open " + folder);
  for (const std::string& name : TRY(names_in(outer.get(), folder))) {
    if (!name.starts_with(prefix)) return fail(Errc::invalid_input, folder + ": is not empty");
    Result<void> removed = remove_rest(outer.get(), name);
    if (!removed) return removed.error().in(folder);
  }
  const std::string made = TRY(make_private_folder(real.get(), std::string(prefix)));
  const std::string name = made.substr(made.rfind('/') + 1);
  Fd fd = open_folder(outer.get(), name);
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return fail_errno("cannot lock " + made);
  return Staging(real.get(), name, std::move(outer), std::move(fd));
}

Staging::~Staging() {
  if (outer_) static_cast<void>(remove_tree_at(outer_.get(), name_));
}

Result<void> Staging::move_in() {
  std::vector<std::string> moved;
  for (const std::string& name : TRY(names_in(fd_.get(), path()))) {
    if (::renameat(fd_.get(), name.c_str(), outer_.get(), name.c_str()) != 0) {
      const Error error = fail_errno("cannot rename " + folder_ + "/" + name);
      for (const std::string& there : moved) static_cast<void>(remove_tree_at(outer_.get(), there));
      return error;
    }
    moved.push_back(name);
  }
  return {};
}

}  // namespace muster::packing
