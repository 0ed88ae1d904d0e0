#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::engine {

/// A host's attempts are chapters of one journal. This is the byte where the latest attempt begins,
/// by host; 0 for hosts that are missing here.
using Chapters = std::map<std::string, std::uint64_t>;

inline std::uint64_t chapter_of(const Chapters& chapters, const std::string& host) {
  const auto found = chapters.find(host);
  return found == chapters.end() ? 0 : found->second;
}

/// The end of the last whole record in an attempt's part of the host's journal; the part begins at
/// byte `from`. Blocks while it reads. Error: `system` with the path.
Result<std::uint64_t> whole_until(const std::string& journal, std::uint64_t from);
/// As above, for all hosts of a job's folder whose attempt begins at `begun`, except those in
/// `known`.
Result<Chapters> whole_until(const std::string& job_folder, const std::vector<std::string>& hosts,
                             const Chapters& begun, Chapters known);

/// Ends an attempt's part, from byte `from` to byte `whole`: cuts off what follows, and adds a last
/// record that tells readers that the next attempt follows. Repeating it with the same `whole`
/// changes only that record's time. Returns the journal's length, where the next part begins.
/// Blocks and fails as above.
Result<std::uint64_t> end_chapter(const std::string& journal, std::uint64_t from,
                                  std::uint64_t whole, int attempt, UnixMillis now);
/// As above, for all hosts: returns where their next parts begin.
Result<Chapters> end_chapters(const std::string& job_folder, const std::vector<std::string>& hosts,
                              const Chapters& begun, const Chapters& whole, int attempt,
                              UnixMillis now);

/// Moves what the hosts left in an attempt that is over to `<job folder>/attempt-N`, so that the
/// next attempt finds empty folders. Repeating it changes nothing. Error: `system`.
Result<void> set_aside(const std::string& job_folder, const std::vector<std::string>& hosts,
                       int attempt);

}  // namespace muster::engine
