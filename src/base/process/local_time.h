#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster {

/// Times as people read and type them, in the zone of this process: TZ, else /etc/localtime, else
/// UTC. For files, protocols and JSON: base/dates.h.

/// "2006-01-02 15:04:05".
std::string local_text(UnixMillis time);
/// "+01:00": the zone's offset at that time.
std::string offset_text(UnixMillis time);
/// Both: "2006-01-02 15:04:05 +01:00".
std::string zoned_text(UnixMillis time);
/// Without seconds: "2006-01-02 15:04 +01:00".
std::string zoned_minute(UnixMillis time);

/// A date or a time in ISO 8601, in this zone unless it has an offset or Z.
std::optional<UnixMillis> parse_local(std::string_view text);

/// Makes UTC this process's zone. Call it before there are other threads.
void use_utc();

}  // namespace muster
