#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "job/preflight/judge.h"

namespace muster::preflight {

/// What the last full preflight of a host found, as a file `<host>.json` keeps it.
/// Source: docs/protocols/preflight.md.
struct Health {
  UnixMillis at{0};
  std::vector<std::string> findings;  ///< About the host, its GPUs first; none: it was well.
  std::size_t gpu_findings = 0;       ///< How many of them are of gpu_health_kind.

  bool operator==(const Health&) const = default;
};

/// Pure. The file's text, and back. Error: `invalid_input`.
std::string health_text(const HostFacts& facts, const std::vector<Finding>& findings,
                        UnixMillis at);
Result<Health> health_from(std::string_view text);

/// The folder in a state folder.
std::string health_folder(const std::string& state_folder);
/// Writes a file for each host into `folder`, which is made (0700) if need be; at most
/// `kept_hosts_max` stay there. Blocks. Error: as write_file().
constexpr std::size_t kept_hosts_max = 4096;
Result<void> keep_health(const std::string& folder, const std::vector<HostFacts>& hosts,
                         const std::vector<Finding>& findings, UnixMillis at);
/// Stores a record from another process, in the form of health_text(), below `name`. Errors:
/// `invalid_input`: malformed record, or invalid file name; `denied`: too many records; as
/// write_file().
Result<void> keep_record(const std::string& folder, const std::string& name,
                         const std::string& record);
/// By host; unreadable or malformed records are ignored. Blocks.
std::map<std::string, Health> kept_health(const std::string& folder);

/// "ok, 2026-11-23 02:10 +00:00"; "1 finding, 2026-11-23 02:10 +00:00: MTU: 1400 on node1, 1500 on
/// the others": the findings about GPUs, else the first one. `time` shows the time of the
/// preflight.
std::string health_words(const Health& health, const std::function<std::string(UnixMillis)>& time);
/// The health_words() of each record of kept_health(), by host. Blocks.
std::map<std::string, std::string> kept_words(const std::string& folder,
                                              const std::function<std::string(UnixMillis)>& time);

}  // namespace muster::preflight
