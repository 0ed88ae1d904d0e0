#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

/// Times as HTTP, AWS's protocols, S3, signatures and people write them; all in UTC. Pure.

/// "Mon, 02 Jan 2006 15:04:05 GMT".
std::string http_date(UnixMillis time);
/// Accepts the three forms of RFC 9110 section 5.6.7; none for any other text.
std::optional<UnixMillis> parse_http_date(std::string_view text);

/// "2006-01-02 15:04:05"; `separator` is between date and time.
std::string utc_text(UnixMillis time, char separator = ' ');
/// "2006-01-02T15:04:05.000Z".
std::string iso_date(UnixMillis time);
/// With or without a fraction of up to nine digits, cut to milliseconds; ends in 'Z'.
std::optional<UnixMillis> parse_iso_date(std::string_view text);

/// Epoch seconds of an ISO 8601 time; the fraction, the offset ("+01:00") and the time of day may
/// be missing.
std::optional<double> parse_iso8601(std::string_view text);
/// With milliseconds unless they are 0: "2026-11-21T13:21:18.250Z". Times outside the years 0 to
/// 9999 become the nearest time inside.
std::string iso8601(double epoch_seconds);

/// "20060102T150405Z", as x-amz-date has it.
std::string amz_date(UnixMillis time);
std::optional<UnixMillis> parse_amz_date(std::string_view text);

}  // namespace muster
