#pragma once

#include "base/json.h"

namespace muster {

/// "FIELD: expected WHAT": the error for a field of a file, a message or a request with another
/// value.
inline Error expected(const std::string& field, const std::string& what) {
  return fail(Errc::invalid_input, field + ": expected " + what);
}

/// The text at `name`; empty if `json` is not an object, or has another value or none there.
std::string member_text(const Json& json, std::string_view name);

}  // namespace muster
