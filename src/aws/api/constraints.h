#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aws/api/model.h"
#include "base/json.h"

namespace muster::api {

/// What a shape asks of a value, in the words in which AWS's services refuse one. Pure.

/// The complaint about a value's type: "STRING_VALUE can not be converted to an Integer". None if
/// it fits. A number without a fraction is an integer, however it is written.
std::optional<std::string> type_misfit(Kind kind, const Json& value);

/// The constraints of `shape` that `value` breaks, itself only, not what is inside. The value's
/// type fits.
std::vector<std::string> broken(const Service& service, const Shape& shape, const Json& value);
/// All constraints of `shape`.
std::vector<std::string> constraints(const Service& service, const Shape& shape);

/// As in "Value 'x' at": in quotes, lists as [a, b], objects as {a=b}; at most 1 KiB of it.
std::string shown_value(const Json& value);

}  // namespace muster::api
