#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace muster {

/// What a sweep of dead jobs did, for people.
struct Swept {
  std::vector<std::string> removed;  ///< "container mpi-demo-algo-1", ...
  std::vector<std::string> failed;   ///< What could not be removed, and why.
};

/// A line for each: "removed …", "left …". Pure.
std::string lines_of(const Swept& swept);
/// `{"removed": […], "failed": […]}`. Pure.
Json to_json(const Swept& swept);
/// Error: `protocol`. Pure.
Result<Swept> swept_from(const Json& json);

}  // namespace muster
