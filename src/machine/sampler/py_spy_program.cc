#include "machine/sampler/py_spy_program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/files/given_path.h"

namespace muster::sampler {
namespace {

/// Why it cannot be run; empty if it can.
std::string why_not(const PySpy& one, bool as_root) {
  struct stat status {};
  if (::fstat(one.held.get(), &status) != 0) return "it cannot be examined";
  const bool is_roots = status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (as_root && !is_roots)
    return "users other than root can change it, but it would run as root here";
  if (::access(held_path(one.held).c_str(), X_OK) != 0)
    return "permission denied; run chmod a+rx on it";
  return {};
}

}  // namespace

std::vector<PySpy> hold_py_spies(const Args& paths) {
  std::vector<PySpy> held;
  for (const std::string& path : paths) {
    Fd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode))
      held.push_back({std::move(file), path});
  }
  return held;
}

Result<PySpy> choose_py_spy(std::vector<PySpy> held, bool as_root) {
  std::optional<Error> first;
  for (PySpy& each : held) {
    const std::string why = why_not(each, as_root);
    if (why.empty()) return std::move(each);
    if (!first) first = fail(Errc::denied, "py-spy: " + each.path + ": " + why);
  }
  if (first) return *std::move(first);
  return fail(Errc::not_found,
              "py-spy: not found next to the job's Python or on PATH; run pip install py-spy");
}

}  // namespace muster::sampler
