#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "base/result.h"

namespace muster::sampler {

/// A py-spy, held open: a virtual environment is often below a home that only its user may enter,
/// and the sampler is the host's root when it runs the program.
struct PySpy {
  Fd held;  ///< O_PATH; run it by held_path(), with this descriptor kept.
  std::string path;
};

/// Opens the plain files among `paths`, which are absolute and without links. Call it before this
/// process enters a user namespace.
std::vector<PySpy> hold_py_spies(const Args& paths);

/// The first that this process may execute. Call it with the user and the namespace in which it is
/// to run. `as_root`: it would run with all of root's rights, because the host has no users of its
/// own; then only a file of root's that no other user can change will do. Errors: `not_found`,
/// `denied` with the first one's path.
Result<PySpy> choose_py_spy(std::vector<PySpy> held, bool as_root);

}  // namespace muster::sampler
