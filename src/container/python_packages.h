#pragma once

#include <string_view>

namespace muster::container {

/// The Python packages of python/src as a zip archive, which `sm` carries. Why:
/// docs/decisions/0011-python.md.
std::string_view python_packages();

}  // namespace muster::container
