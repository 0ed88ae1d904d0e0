#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "aws/api/request.h"
#include "base/json.h"
#include "base/time.h"

namespace muster::api {

/// Members of an input that validation has let through; absent (or null) ones and those of another
/// type are empty. Pure.
std::string text_of(const Json& input, const char* name);
std::optional<std::int64_t> integer_of(const Json& input, const char* name);
bool flag_of(const Json& input, const char* name);
std::vector<std::string> texts_of(const Json& input, const char* name);
/// Epoch seconds, as all protocols give them.
std::optional<UnixMillis> time_of(const Json& input, const char* name);
/// A member that is a list; null if it is missing or not a list.
const Json* list_of(const Json& input, const char* name);
/// A member that is a structure; null if it is missing or not a structure.
const Json* object_of(const Json& input, const char* name);

/// The nested structure at the path `names`; an empty one if it is missing.
const Json& inside(const Json& input, std::initializer_list<const char*> names);
/// The elements of a member that is a list; empty if it is not a list.
const Json& elements(const Json& input, const char* name);

/// Epoch seconds with their milliseconds, as answers hold times.
double seconds(UnixMillis time);

/// A NextToken out of what is needed to go on, and back. Clients cannot see what it says. None for
/// what no page_token() made.
std::string page_token(const Json& place);
std::optional<Json> place_of(const std::string& token);

/// The caller's mistake, in one line for a person.
aws::Refusal invalid(std::string message);
/// What the store could not do. The client may try again.
aws::Refusal internal_failure(const Error& error);

}  // namespace muster::api
