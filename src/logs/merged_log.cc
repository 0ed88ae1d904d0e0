#include "logs/merged_log.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>

namespace muster::logs {
namespace {

constexpr std::uint64_t mark_lines = 4096;
constexpr std::size_t block_events = 1024;
constexpr std::size_t block_bytes = 1u << 20;

/// Where a text may be cut, at most `most` bytes into it: not within a character.
std::size_t cut_before(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0u) == 0x80u) --most;
  return most;
}

}  // namespace

/// Reads the hosts' logs from one place to another, in the order of their times.
class MergedLog::Merge {
 public:
  Merge(std::vector<LogStream>& streams, const std::vector<std::uint64_t>& from,
        std::vector<std::uint64_t> to)
      : streams_(streams), to_(std::move(to)) {
    for (const std::uint64_t place : from) heads_.push_back({place, {}, 0});
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
  };
  Result<LogEvent*> head(std::size_t host) {
    Head& head = heads_[host];
    if (head.place >= to_[host]) return nullptr;
    if (head.used == head.block.size()) {
      const std::uint64_t left = to_[host] - head.place;
      head.block = TRY(streams_[host].read(
          head.place, static_cast<std::size_t>(std::min<std::uint64_t>(left, block_events)),
          block_bytes));
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
    marks_.push_back({ends[0], ends});
    if (marks_.size() > 2) marks_.erase(marks_.end() - 2);
    return {};
  }
  Merge merge(streams_, last.places, ends);
  std::uint64_t number = last.number;
  while (TRY(merge.next()).event != nullptr)
    if (++number % mark_lines == 0) marks_.push_back({number, merge.places()});
  if (marks_.back().number != number) marks_.push_back({number, merge.places()});
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
  for (; mark + 1 < marks_.size(); ++mark) {
    Merge merge(streams_, begin, marks_[mark + 1].places);
    while (true) {
      const Merge::Next next = TRY(merge.next());
      if (next.event == nullptr) break;
      const std::uint64_t here = number++;
      if (here >= from && !visit(here, next)) return {};
    }
    begin = marks_[mark + 1].places;
    number = marks_[mark + 1].number;
  }
  return {};
}

Result<std::vector<MergedLog::Line>> MergedLog::read(std::uint64_t from, std::size_t lines_max,
                                                     std::size_t line_bytes) {
  std::vector<Line> lines;
  if (from >= count() || lines_max == 0) return lines;
  TRY(walk(from, [&](std::uint64_t number, const Merge::Next& next) {
    std::string& text = next.event->message;
    const std::size_t whole = text.size();
    text.resize(cut_before(text, line_bytes));
    lines.push_back({number, next.host, next.event->time, std::move(text), whole});
    return lines.size() < lines_max;
  }));
  return lines;
}

Result<MergedLog::Found> MergedLog::find(const re2::RE2& wanted, std::uint64_t from,
                                         std::size_t most, std::size_t bytes_max) {
  Found found;
  found.looked_to = std::min(from, count());
  if (most == 0 || bytes_max == 0) return found;
  std::size_t bytes = 0;
  bool is_all = true;
  TRY(walk(found.looked_to, [&](std::uint64_t number, const Merge::Next& next) {
    const std::string& text = next.event->message;
    bytes += text.size() + 1;
    if (re2::RE2::PartialMatch(text, wanted)) found.numbers.push_back(number);
    found.looked_to = number + 1;
    is_all = bytes < bytes_max && found.numbers.size() < most;
    return is_all;
  }));
  if (is_all) found.looked_to = count();
  return found;
}

}  // namespace muster::logs
