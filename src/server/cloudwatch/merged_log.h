#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/cloudwatch/log_stream.h"

namespace re2 {
class RE2;
}

namespace muster::cloudwatch {

/// The merged log of a job's hosts, sorted by time. Each line has a number, which stays the same
/// while this exists: new lines come after the existing ones, whatever their time. Keeps marks, not
/// lines. Used by one thread at a time, which it may block: the first read of a log reads all of
/// it.
class MergedLog {
 public:
  struct Host {
    std::string name;
    std::string journal;  ///< The journal's current path.
  };
  struct Line {
    std::uint64_t number = 0;
    std::size_t host = 0;  ///< The number of the host, from 0.
    UnixMillis time{0};
    std::string text;
    std::uint64_t text_bytes = 0;  ///< The length of the whole line; `text` may be cut.
    int rank = -1;                 ///< As LogEvent's.
    job::Stream stream = job::Stream::out;
    std::size_t tag_bytes = 0;  ///< As LogEvent's.
  };
  explicit MergedLog(const std::vector<Host>& hosts);

  /// Reads new lines; `hosts` as in the constructor, except their paths. Error: `system`.
  Result<void> catch_up(const std::vector<Host>& hosts, bool ended);
  std::uint64_t count() const { return marks_.back().number; }

  /// At most `lines_max` lines from number `from` on, each cut at `line_bytes`. Error: `system`.
  Result<std::vector<Line>> read(std::uint64_t from, std::size_t lines_max, std::size_t line_bytes);

  /// The lines with these sorted numbers, in the form of read(). Error: `system`.
  Result<std::vector<Line>> read_each(const std::vector<std::uint64_t>& numbers,
                                      std::size_t line_bytes);

  /// False: it needs no more lines.
  using Taker = std::function<bool(std::uint64_t number, std::size_t host, LogEvent& event)>;
  /// Passes lines from `from` on to the callback, until it returns false or has received
  /// `bytes_max`. Returns the number of the first remaining line. Error: `system`.
  Result<std::uint64_t> scan(std::uint64_t from, std::size_t bytes_max, const Taker& take);

  struct Found {
    std::vector<std::uint64_t> numbers;
    std::uint64_t looked_to = 0;  ///< The first line that was not searched.
  };
  /// The numbers of lines from `from` on that match with or without their colours, at most `most`;
  /// searches at most `bytes_max` of the log. Error: `system`.
  Result<Found> find(const re2::RE2& wanted, std::uint64_t from, std::size_t most,
                     std::size_t bytes_max);

 private:
  /// Lines [number, next mark's number) are those of each host from here to the next mark's place.
  struct Mark {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> places;
    bool is_seam = false;  ///< Later lines were not merged with earlier ones.
  };
  class Merge;
  std::size_t mark_of(std::uint64_t number) const;
  /// Passes lines from number `from` on to `visit`, with their numbers, until it returns false.
  template <class Visit>
  Result<void> walk(std::uint64_t from, const Visit& visit);

  std::vector<LogStream> streams_;
  std::vector<Mark> marks_;  ///< The last mark is the end.
};

}  // namespace muster::cloudwatch
