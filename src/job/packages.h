#pragma once

namespace muster::job {

/// Where every host of the platform sees the Python packages that `sm` carries: a zip archive that
/// Python imports from. Interpreters that have none of their own find it last on PYTHONPATH.
inline constexpr const char* packages_path = "/run/muster/python.zip";

}  // namespace muster::job
