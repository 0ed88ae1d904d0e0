#pragma once

#include <cstdint>

namespace muster {

/// Lets this process open as many files as the system allows it: its soft limit becomes the hard
/// one. Returns that limit. Call before threads and children.
std::uint64_t raise_open_files();

/// For a child between fork and exec: the limit that this process itself was started with. Programs
/// that walk over all possible descriptors, or use select(), expect the usual one. Safe after a
/// fork; does nothing where nothing was raised.
void restore_open_files();

}  // namespace muster
