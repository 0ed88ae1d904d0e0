#pragma once

namespace muster::job {

/// Where every host of the platform has the Python packages that `sm` carries: a zip archive that
/// Python can import from. It is last on PYTHONPATH, for interpreters that do not have these
/// packages installed.
inline constexpr const char* packages_path = "/run/muster/python.zip";

}  // namespace muster::job
