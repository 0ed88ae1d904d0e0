#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

/// Times as HTTP, S3 and signatures write them; all in UTC. Pure.

/// "Mon, 02 Jan 2006 15:04:05 GMT".
std::string http_date(UnixMillis time);
/// The three forms of RFC 9110 section 5.6.7; none for any other text.
std::optional<UnixMillis> parse_http_date(std::string_view text);

/// "2006-01-02T15:04:05.000Z".
std::string iso_date(UnixMillis time);
/// With or without a fraction; ends in 'Z'.
std::optional<UnixMillis> parse_iso_date(std::string_view text);

/// "20060102T150405Z", as x-amz-date has it.
std::string amz_date(UnixMillis time);
std::optional<UnixMillis> parse_amz_date(std::string_view text);

}  // namespace muster
