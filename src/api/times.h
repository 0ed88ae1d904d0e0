#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::api {

/// Points in time as AWS's protocols write them. Pure.

/// "2026-11-21T13:21:18Z" or with a fraction or an offset ("+01:00"): epoch seconds.
std::optional<double> parse_iso8601(std::string_view text);
/// In UTC, with milliseconds unless they are 0: "2026-11-21T13:21:18.250Z". Times outside of the
/// years 0 to 9999 are cut to them.
std::string iso8601(double epoch_seconds);

}  // namespace muster::api
