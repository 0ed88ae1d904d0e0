#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace muster::engine {

/// Attempts of a host are chapters of one journal: the byte where the latest begins, by host; 0 for
/// those that are not there.
using Chapters = std::map<std::string, std::uint64_t>;

inline std::uint64_t chapter_of(const Chapters& chapters, const std::string& host) {
  const auto found = chapters.find(host);
  return found == chapters.end() ? 0 : found->second;
}

/// Where the last whole record ends of an attempt's part of the host's journal, which begins at
/// byte `from`. Blocks while it reads. Error: `system` with the path.
Result<std::uint64_t> whole_until(const std::string& journal, std::uint64_t from);
/// As above, for all hosts of a job's folder whose attempt begins at `begun`, except those in
/// `known`.
Result<Chapters> whole_until(const std::string& job_folder, const std::vector<std::string>& hosts,
                             const Chapters& begun, Chapters known);

/// Ends an attempt's part, from byte `from` to byte `whole`: what follows is cut off, and a last
/// record says to people that the next attempt follows. Done again with the same `whole`, it
/// changes nothing but that record's time. Gives the journal's length, where the next part begins.
/// Blocks and fails as above.
Result<std::uint64_t> end_chapter(const std::string& journal, std::uint64_t from,
                                  std::uint64_t whole, int attempt, UnixMillis now);
/// As above, for all hosts: returns where their next parts begin.
Result<Chapters> end_chapters(const std::string& job_folder, const std::vector<std::string>& hosts,
                              const Chapters& begun, const Chapters& whole, int attempt,
                              UnixMillis now);

/// What hosts left in an attempt that is over makes room for the next one's, and stays in
/// `<job folder>/attempt-N`. Done again, it does nothing more. Error: `system`.
Result<void> set_aside(const std::string& job_folder, const std::vector<std::string>& hosts,
                       int attempt);

}  // namespace muster::engine
