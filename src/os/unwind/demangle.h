#pragma once

#include <string>
#include <string_view>

namespace muster::unwind {

/// The name of a C++ function without its parameters and its templates' arguments:
/// "at::native::add<…>", "train()::{lambda#1}::operator()" as "train::{lambda}::operator()". Any
/// other name, or an unknown form, is returned unchanged. Source: Itanium C++ ABI, 5.1. The time is
/// proportional to the name's length, unlike __cxa_demangle(): jobs choose these names, and a short
/// one may expand to gigabytes.
///
/// Pure: no I/O.
std::string plain_name(std::string_view mangled);

}  // namespace muster::unwind
