#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// "FIELD: expected WHAT": a field of a file, a message or a request that does not hold that.
inline Error expected(const std::string& field, const std::string& what) {
  return fail(Errc::invalid_input, field + ": expected " + what);
}

}  // namespace muster
