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

/// The log of a job's hosts as one, by time. Each line has a number, which it keeps for as long as
/// this lives: what comes later stands behind what was there, whatever its time. Keeps marks, and
/// no lines. One thread at a time, which it may block: a first look at a log reads all of it.
class MergedLog {
 public:
  struct Host {
    std::string name;
    std::string journal;  ///< The journal's path, where it is now.
  };
  struct Line {
    std::uint64_t number = 0;
    std::size_t host = 0;  ///< The number of the host, from 0.
    UnixMillis time{0};
    std::string text;
    std::uint64_t text_bytes = 0;  ///< The whole line's; `text` may be its beginning.
    int rank = -1;                 ///< As LogEvent's.
    job::Stream stream = job::Stream::out;
    std::size_t tag_bytes = 0;  ///< As LogEvent's.
  };
  explicit MergedLog(const std::vector<Host>& hosts);

  /// Reads on; `hosts` as given to the constructor, but for their paths. Error: `system`.
  Result<void> catch_up(const std::vector<Host>& hosts, bool ended);
  std::uint64_t count() const { return marks_.back().number; }

  /// At most `lines_max` lines from number `from` on, each cut at `line_bytes`. Error: `system`.
  Result<std::vector<Line>> read(std::uint64_t from, std::size_t lines_max, std::size_t line_bytes);

  /// The lines of these numbers, which are sorted, as read() gives them. Error: `system`.
  Result<std::vector<Line>> read_each(const std::vector<std::uint64_t>& numbers,
                                      std::size_t line_bytes);

  /// False: it wants no more.
  using Taker = std::function<bool(std::uint64_t number, std::size_t host, LogEvent& event)>;
  /// Gives lines from `from` on, which are the taker's, until it says false or `bytes_max` of
  /// them were seen: the first number that was not. Error: `system`.
  Result<std::uint64_t> scan(std::uint64_t from, std::size_t bytes_max, const Taker& take);

  struct Found {
    std::vector<std::uint64_t> numbers;
    std::uint64_t looked_to = 0;  ///< The first line that was not looked at.
  };
  /// The numbers of lines from `from` on that match, at most `most`; looks at `bytes_max` of the
  /// log and no further. Error: `system`.
  Result<Found> find(const re2::RE2& wanted, std::uint64_t from, std::size_t most,
                     std::size_t bytes_max);

 private:
  /// Lines [number, next mark's number) are those of each host from here to the next mark's place.
  struct Mark {
    std::uint64_t number = 0;
    std::vector<std::uint64_t> places;
    bool is_seam =
        false;  ///< catch_up() ended here: what follows was not merged with what is before.
  };
  class Merge;
  std::size_t mark_of(std::uint64_t number) const;
  /// Gives lines from number `from` on to `visit`, with their numbers, until that says false.
  template <class Visit>
  Result<void> walk(std::uint64_t from, const Visit& visit);

  std::vector<LogStream> streams_;
  std::vector<Mark> marks_;  ///< The last one is the end.
};

}  // namespace muster::cloudwatch
