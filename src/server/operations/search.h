#pragma once

#include <optional>
#include <string>

#include "base/json.h"

namespace muster::server {

/// Search's conditions on a record: Filters and SubExpressions, all of which must hold (or, with
/// Operator "Or", one). A property is a path, "ResourceConfig.InstanceCount"; through a list it
/// means any element; "Tags.KEY" is the value of a tag. Numbers are compared as numbers, times by
/// their ISO 8601 or epoch text. Pure. Source: the API reference, "Search" and "Filter".
bool matches(const Json& record, const Json& expression);

/// The value by which records are sorted; null if the record has no such property.
Json property(const Json& record, const std::string& path);

}  // namespace muster::server
