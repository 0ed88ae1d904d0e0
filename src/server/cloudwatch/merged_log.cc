#include "server/cloudwatch/merged_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

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

/// Takes the event's text.
MergedLog::Line line_of(std::uint64_t number, std::size_t host, LogEvent& event,
                        std::size_t line_bytes) {
  const std::size_t whole = event.message.size();
  event.message.resize(cut_before(event.message, line_bytes));
  const std::size_t tag = std::min<std::size_t>(event.tag_bytes, event.message.size());
  return {number, host, event.time, std::move(event.message), whole, event.rank, tag};
}

}  // namespace

/// Reads the hosts' logs from one place to another, in the order of their times.
class MergedLog::Merge {
 public:
  Merge(std::vector<LogStream>& streams, const std::vector<std::uint64_t>& from,
        std::vector<std::uint64_t> to)
      : streams_(streams), to_(std::move(to)) {
    for (const std::uint64_t place : from) heads_.push_back({.place = place, .block = {}});
  }
  struct Next {
    std::size_t host = 0;
    LogEvent* event = nullptr;  ///< Null: that was all. Valid until the next call.
  };
  Result<Next> next() {
    Next next;
    for (std::size_t host = 0; host < heads_.size(); ++host) {
      LogEvent* event = TRY(head(host));
      if (event != nullptr && (next.event == nullptr || event->time < next.event->time))
        next = {host, event};
    }
    if (next.event != nullptr) {
      ++heads_[next.host].place;
      ++heads_[next.host].used;
    }
    return next;
  }
  std::vector<std::uint64_t> places() const {
    std::vector<std::uint64_t> places;
    for (const Head& head : heads_) places.push_back(head.place);
    return places;
  }

 private:
  struct Head {
    std::uint64_t place = 0;
    std::vector<LogEvent> block;
    std::size_t used = 0;
    std::size_t wanted = first_block_events;
  };
  Result<LogEvent*> head(std::size_t host) {
    Head& head = heads_[host];
    if (head.place >= to_[host]) return nullptr;
    if (head.used == head.block.size()) {
      const std::uint64_t left = to_[host] - head.place;
      head.block = TRY(streams_[host].read(
          head.place, static_cast<std::size_t>(std::min<std::uint64_t>(left, head.wanted)),
          block_bytes));
      head.wanted = block_events;
      head.used = 0;
      if (head.block.empty()) return nullptr;  // The journal is shorter than it was.
    }
    return &head.block[head.used];
  }

  std::vector<LogStream>& streams_;
  std::vector<std::uint64_t> to_;
  std::vector<Head> heads_;
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
  while (TRY(merge.next()).event != nullptr)
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
      const Merge::Next next = TRY(merge.next());
      if (next.event == nullptr) break;
      const std::uint64_t here = number++;
      if (here >= from && !visit(here, next)) return {};
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
  TRY(walk(from, [&](std::uint64_t number, const Merge::Next& next) {
    lines.push_back(line_of(number, next.host, *next.event, line_bytes));
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
    TRY(walk(*wanted, [&](std::uint64_t number, const Merge::Next& next) {
      if (number < *wanted) return *wanted - number < mark_lines;
      lines.push_back(line_of(number, next.host, *next.event, line_bytes));
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
  TRY(walk(looked_to, [&](std::uint64_t number, const Merge::Next& next) {
    bytes += next.event->message.size() + 1;
    looked_to = number + 1;
    is_all = take(number, next.host, *next.event) && bytes < bytes_max;
    return is_all;
  }));
  return is_all ? count() : looked_to;
}

Result<MergedLog::Found> MergedLog::find(const re2::RE2& wanted, std::uint64_t from,
                                         std::size_t most, std::size_t bytes_max) {
  Found found;
  const auto look = [&](std::uint64_t number, std::size_t, const LogEvent& event) {
    if (re2::RE2::PartialMatch(event.message, wanted)) found.numbers.push_back(number);
    return found.numbers.size() < most;
  };
  found.looked_to = TRY(scan(from, most == 0 ? 0 : bytes_max, look));
  return found;
}

}  // namespace muster::cloudwatch
