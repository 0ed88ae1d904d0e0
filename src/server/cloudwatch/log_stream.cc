#include "server/cloudwatch/log_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/fd.h"

namespace muster::cloudwatch {
namespace {

constexpr std::size_t read_bytes = 128u << 10;
/// For few events: what is read of a log that was followed are many short parts.
constexpr std::size_t small_read_bytes = 8u << 10;
constexpr std::size_t few_events = 32;
constexpr std::uint64_t mark_bytes = 256u << 10;
/// A mark holds a copy of all unfinished lines: with much of that there are fewer marks.
constexpr std::size_t mark_waiting_bytes_max = 64u << 10;
constexpr std::uint64_t mark_bytes_max = 16u << 20;

}  // namespace

LogStream::LogStream(std::string host, std::string journal_path)
    : path_(std::move(journal_path)),
      read_to_{0, 0, LogMessages(host)},
      messages_(std::move(host)) {
  marks_.push_back({0, 0, messages_});
}

Result<void> LogStream::scan(std::uint64_t offset, LogMessages& messages, std::size_t piece_bytes,
                             const Visit& visit) const {
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_errno("cannot open " + path_);
  job::JournalReader reader(offset);
  std::vector<LogEvent> events;
  // A damaged journal ends here: the process that runs the job reports it.
  return read_pieces(file.get(), path_, offset, piece_bytes, [&](std::string_view piece) {
    return reader.visit(piece, [&](const job::Record& record) {
      events.clear();
      messages.take(record, events);
      return visit(events, reader.offset());
    });
  });
}

Result<void> LogStream::catch_up(bool ended) {
  if (ended_) return {};
  const std::uint64_t from = offset_;
  TRY(scan(from, messages_, read_bytes,
           [this](const std::vector<LogEvent>& events, std::uint64_t offset) {
             if (count_ == 0 && !events.empty()) first_time_ = events.front().time;
             count_ += events.size();
             for (const LogEvent& event : events) bytes_ += event.message.size();
             offset_ = offset;
             const std::uint64_t since = offset - marks_.back().offset;
             const bool is_light = messages_.lines().waiting_bytes() <= mark_waiting_bytes_max;
             if (since >= (is_light ? mark_bytes : mark_bytes_max))
               marks_.push_back({count_, offset, messages_});
             return true;
           }));
  if (!ended) return {};
  ended_ = true;
  messages_.finish(tail_);
  if (count_ == 0 && !tail_.empty()) first_time_ = tail_.front().time;
  count_ += tail_.size();
  for (const LogEvent& event : tail_) bytes_ += event.message.size();
  return {};
}

const LogStream::Mark& LogStream::mark_before(std::uint64_t number) const {
  const auto behind =
      std::upper_bound(marks_.begin(), marks_.end(), number,
                       [](std::uint64_t wanted, const Mark& mark) { return wanted < mark.number; });
  const Mark& mark = *std::prev(behind);
  return read_to_.number <= number && read_to_.number > mark.number ? read_to_ : mark;
}

Result<std::vector<LogEvent>> LogStream::read(std::uint64_t from, std::size_t events_max,
                                              std::size_t bytes_max) {
  std::vector<LogEvent> taken;
  if (from >= count_) return taken;
  const std::uint64_t in_journal = count_ - tail_.size();
  std::size_t bytes = 0;
  const auto is_full = [&] { return taken.size() >= events_max || bytes >= bytes_max; };
  Mark at = mark_before(from);
  std::uint64_t& number = at.number;
  const auto take = [&](std::vector<LogEvent>& events) {
    for (LogEvent& event : events) {
      if (number >= from) {
        if (is_full()) return false;
        bytes += event.message.size();
        taken.push_back(std::move(event));
      }
      ++number;
    }
    return number < in_journal && !is_full();
  };
  if (from < in_journal) {
    const std::uint64_t begin = at.offset;
    bool is_whole = false;
    TRY(scan(begin, at.messages, events_max <= few_events ? small_read_bytes : read_bytes,
             [&](std::vector<LogEvent>& events, std::uint64_t offset) {
               const std::uint64_t end = number + events.size();
               const bool goes_on = take(events);
               is_whole = number == end;
               at.offset = offset;
               return goes_on;
             }));
    if (is_whole) std::swap(read_to_, at);
  }
  number = in_journal;
  std::vector<LogEvent> tail = tail_;
  take(tail);
  return taken;
}

Result<std::uint64_t> LogStream::first_at(UnixMillis time) {
  // The last mark that has only earlier events before it: times never go back.
  const auto behind = std::partition_point(marks_.begin(), marks_.end(), [&](const Mark& mark) {
    return mark.messages.lines().last_time() < time;
  });
  const Mark& mark = behind == marks_.begin() ? marks_.front() : *std::prev(behind);
  std::uint64_t number = mark.number;
  bool found = false;
  const auto look = [&](const std::vector<LogEvent>& events) {
    for (const LogEvent& event : events) {
      found = event.time >= time;
      if (found) return false;
      ++number;
    }
    return number < count_ - tail_.size();
  };
  LogMessages messages = mark.messages;
  if (number < count_ - tail_.size())
    TRY(scan(mark.offset, messages, read_bytes,
             [&](const std::vector<LogEvent>& events, std::uint64_t) { return look(events); }));
  if (!found) look(tail_);
  return number;
}

}  // namespace muster::cloudwatch
