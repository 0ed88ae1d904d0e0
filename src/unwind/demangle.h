#pragma once

#include <string>
#include <string_view>

namespace muster::unwind {

/// The name of a C++ function without its parameters and its templates' arguments:
/// "at::native::add<…>", "train()::{lambda#1}::operator()" as "train::{lambda}::operator()". What
/// is no such name, or in a form that is not known here, comes back as it is. Source: Itanium C++
/// ABI, 5.1. Takes time in proportion to the name, unlike __cxa_demangle(): a job writes these
/// names, and a short one may stand for gigabytes.
///
/// Pure: no I/O.
std::string plain_name(std::string_view mangled);

}  // namespace muster::unwind
