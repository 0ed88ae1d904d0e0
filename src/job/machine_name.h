#pragma once

#include <string>
#include <string_view>

namespace muster::job {

/// A job's name where it is seen on the whole machine (containers, control groups): jobs of two
/// state folders may have one name. "<job>.<8 hex digits of the folder that its folder is in>".
/// Pure.
std::string machine_name(std::string_view job, std::string_view job_folder);

}  // namespace muster::job
