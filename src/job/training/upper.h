#pragma once

#include <string>
#include <string_view>

namespace muster::job {

/// Python's str.upper(): names of variables are made with it. Bytes that are no UTF-8 stay.
/// Source: str.upper() of CPython 3.11 (Unicode 14.0.0). Pure.
std::string python_upper(std::string_view text);

}  // namespace muster::job
