#include "server/cloudwatch/merged_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

#include "platform/journals/log_merge.h"
#include "server/cloudwatch/log_level.h"

namespace muster::cloudwatch {
namespace {

constexpr std::uint64_t mark_lines = 4096;
/// A host's first block; further ones are larger, as each begins with reading up to its place.
constexpr std::size_t first_block_events = 1024;
constexpr std::size_t block_events = 16 << 10;
constexpr std::size_t block_bytes = 1u << 20;

/// Where a text may be cut, at most `most` bytes into it: not within a character.
std::size_t cut_before(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0u) == 0x80u) --most;
  return most;
}

/// A text may continue across a change of colour, which a reader does not see.
bool matches(const std::string& line, const re2::RE2& wanted) {
  return re2::RE2::PartialMatch(line, wanted) ||
         (has_colours(line) && re2::RE2::PartialMatch(uncoloured(line), wanted));
}

/// Takes the event's text.
MergedLog::Line line_of(std::uint64_t number, std::size_t host, LogEvent& event,
                        std::size_t line_bytes) {
  const std::size_t whole = event.message.size();
  event.message.resize(cut_before(event.message, line_bytes));
  const std::size_t tag = std::min<std::size_t>(event.tag_bytes, event.message.size());
  return {number, host, event.time, std::move(event.message), whole, event.rank, event.stream, tag};
}

}  // namespace

/// Reads the hosts' logs from one place to another, in the order of their times.
class MergedLog::Merge {
 public:
  using Next = platform::LogMerge<LogEvent>::Next;  ///< `source`: the host's number.

  Merge(std::vector<LogStream>& streams, const std::vector<std::uint64_t>& from,
        std::vector<std::uint64_t> to)
      : streams_(streams),
        to_(std::move(to)),
        places_(from),
        read_to_(from),
        wanted_(from.size(), first_block_events),
        merge_(from.size()) {}
  /// None: that was all.
  Result<std::optional<Next>> next() {
    while (const std::optional<std::size_t> host = merge_.wanting()) TRY(read_on(*host));
    std::optional<Next> next = merge_.next();
    if (next) ++places_[next->source];
    return next;
  }
  const std::vector<std::uint64_t>& places() const { return places_; }

 private:
  Result<void> read_on(std::size_t host) {
    std::vector<LogEvent> block;
    if (const std::uint64_t left = to_[host] - read_to_[host]; left > 0)
      block = TRY(streams_[host].read(
          read_to_[host], static_cast<std::size_t>(std::min<std::uint64_t>(left, wanted_[host])),
          block_bytes));
    wanted_[host] = block_events;
    read_to_[host] += block.size();
    for (LogEvent& event : block) merge_.add(host, std::move(event));
    if (block.empty()) merge_.dry(host);  // Also where the journal is shorter than it was.
    return {};
  }

  std::vector<LogStream>& streams_;
  const std::vector<std::uint64_t> to_;
  std::vector<std::uint64_t> places_;   ///< The event of each host that is given next.
  std::vector<std::uint64_t> read_to_;  ///< The one that is read next.
  std::vector<std::size_t> wanted_;
  platform::LogMerge<LogEvent> merge_;
};

MergedLog::MergedLog(const std::vector<Host>& hosts) {
  for (const Host& host : hosts) streams_.emplace_back(host.name, host.journal);
  marks_.push_back({0, std::vector<std::uint64_t>(hosts.size(), 0)});
}

Result<void> MergedLog::catch_up(const std::vector<Host>& hosts, bool ended) {
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].moved_to(hosts[i].journal);
    TRY(streams_[i].catch_up(ended));
    ends.push_back(streams_[i].count());
  }
  const Mark last = marks_.back();
  if (ends == last.places) return {};
  if (streams_.size() == 1) {  // Marks tell nothing that the stream's own do not.
    marks_.push_back({ends[0], ends, true});
    if (marks_.size() > 2) marks_.erase(marks_.end() - 2);
    return {};
  }
  Merge merge(streams_, last.places, ends);
  std::uint64_t number = last.number;
  while (TRY(merge.next()))
    if (++number % mark_lines == 0) marks_.push_back({number, merge.places()});
  if (marks_.back().number != number) marks_.push_back({number, merge.places()});
  marks_.back().is_seam = true;
  return {};
}

std::size_t MergedLog::mark_of(std::uint64_t number) const {
  const auto behind =
      std::upper_bound(marks_.begin(), marks_.end(), number,
                       [](std::uint64_t wanted, const Mark& mark) { return wanted < mark.number; });
  return static_cast<std::size_t>(behind - marks_.begin()) - 1;
}

template <class Visit>
Result<void> MergedLog::walk(std::uint64_t from, const Visit& visit) {
  std::size_t mark = mark_of(from);
  std::uint64_t number = marks_[mark].number;
  std::vector<std::uint64_t> begin = marks_[mark].places;
  if (streams_.size() == 1) begin = {number = from};
  while (++mark < marks_.size()) {
    if (!marks_[mark].is_seam) continue;  // One merge goes from seam to seam, past other marks.
    Merge merge(streams_, begin, marks_[mark].places);
    while (true) {
      std::optional<Merge::Next> next = TRY(merge.next());
      if (!next) break;
      const std::uint64_t here = number++;
      if (here >= from && !visit(here, next->source, next->entry)) return {};
    }
    begin = marks_[mark].places;
    number = marks_[mark].number;
  }
  return {};
}

Result<std::vector<MergedLog::Line>> MergedLog::read(std::uint64_t from, std::size_t lines_max,
                                                     std::size_t line_bytes) {
  std::vector<Line> lines;
  if (from >= count() || lines_max == 0) return lines;
  TRY(walk(from, [&](std::uint64_t number, std::size_t host, LogEvent& event) {
    lines.push_back(line_of(number, host, event, line_bytes));
    return lines.size() < lines_max;
  }));
  return lines;
}

Result<std::vector<MergedLog::Line>> MergedLog::read_each(const std::vector<std::uint64_t>& numbers,
                                                          std::size_t line_bytes) {
  std::vector<Line> lines;
  auto wanted = numbers.begin();
  // A walk goes on over what lies between two lines, unless another one would begin behind it.
  while (wanted != numbers.end() && *wanted < count()) {
    const auto before = wanted;
    TRY(walk(*wanted, [&](std::uint64_t number, std::size_t host, LogEvent& event) {
      if (number < *wanted) return *wanted - number < mark_lines;
      lines.push_back(line_of(number, host, event, line_bytes));
      return ++wanted != numbers.end();
    }));
    if (wanted == before) break;  // The journal is shorter than it was.
  }
  return lines;
}

Result<std::uint64_t> MergedLog::scan(std::uint64_t from, std::size_t bytes_max,
                                      const Taker& take) {
  std::uint64_t looked_to = std::min(from, count());
  if (bytes_max == 0) return looked_to;
  std::size_t bytes = 0;
  bool is_all = true;
  TRY(walk(looked_to, [&](std::uint64_t number, std::size_t host, LogEvent& event) {
    bytes += event.message.size() + 1;
    looked_to = number + 1;
    is_all = take(number, host, event) && bytes < bytes_max;
    return is_all;
  }));
  return is_all ? count() : looked_to;
}

Result<MergedLog::Found> MergedLog::find(const re2::RE2& wanted, std::uint64_t from,
                                         std::size_t most, std::size_t bytes_max) {
  Found found;
  const auto look = [&](std::uint64_t number, std::size_t, const LogEvent& event) {
    if (matches(event.message, wanted)) found.numbers.push_back(number);
    return found.numbers.size() < most;
  };
  found.looked_to = TRY(scan(from, most == 0 ? 0 : bytes_max, look));
  return found;
}

}  // namespace muster::cloudwatch
