#include "logs/log_lines.h"

#include <algorithm>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "job/rank_tag.h"

namespace muster::logs {
namespace {

/// Between a host's name and what muster itself says of it.
constexpr const char* own_mark = " muster: ";
/// What a writer of an unfinished line costs besides its bytes, roughly.
constexpr std::size_t writer_bytes = 64;

bool is_for_users(const std::string& level) {
  return level == "error" || level == "warning" || level == "note";
}

bool is_like_own(std::string_view line, const std::string& host) {
  return line.starts_with(host) && line.substr(host.size()).starts_with(own_mark);
}

/// A `train` that has no steward writes tags itself.
void read_tag(LogEvent& event) {
  const std::optional<job::RankTag> tag = job::rank_tag_in(event.message);
  if (!tag) return;
  event.rank = tag->rank;
  event.stream = tag->stream;
  event.tag_bytes = static_cast<std::uint32_t>(tag->bytes);
}

/// Where to cut `text` so that no more than `most` bytes stand before it and no character is torn.
std::size_t cut_at(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  std::size_t at = most;
  while (at > most - 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

void LogLines::take(const job::Record& record, std::vector<LogEvent>& events) {
  if (record.seq == 1) finish(events);  // An earlier attempt may have no end.
  if (record.kind == job::Message::phase) {
    const Result<job::PhaseChange> change = job::phase_from(record.payload);
    if (!change || !job::is_end(change->phase)) return;
    last_ = std::max(last_, record.time);
    return finish(events);
  }
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (!line || !is_for_users(line->level)) return;
    last_ = std::max(last_, record.time);
    return emit_own(*line, events);
  }
  if (record.kind != job::Message::lines) return;
  const Result<job::Lines> lines = job::lines_from(record.payload);
  if (!lines) return;
  last_ = std::max(last_, record.time);
  const Writer writer{lines->rank, lines->alone, lines->stream};
  if (lines->steps) return take_steps(writer, lines->bytes, events);
  std::string_view rest = lines->bytes;
  if (rest.find('\n') != std::string_view::npos) emit_held(writer, events);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return add(writer, rest, events);
    const std::string waiting = take_waiting(writer);
    if (waiting.empty())
      emit(writer, rest.substr(0, end), events);
    else
      emit(writer, waiting + std::string(rest.substr(0, end)), events);
    rest.remove_prefix(end + 1);
  }
}

/// Keeps a piece of a line until its end comes, or until there is too much of it or of all pieces.
void LogLines::add(const Writer& writer, std::string_view bytes, std::vector<LogEvent>& events) {
  const auto [found, is_new] = waiting_.try_emplace(writer);
  found->second += bytes;
  waiting_bytes_ += bytes.size() + (is_new ? writer_bytes : 0);
  if (found->second.size() >= message_bytes_max) emit(writer, take_waiting(writer), events);
  if (waiting_bytes_ > waiting_bytes_max) finish(events);
}

void LogLines::take_steps(const Writer& writer, std::string_view bytes,
                          std::vector<LogEvent>& events) {
  const std::string all = take_waiting(writer) + std::string(bytes);
  std::string text(job::last_step(all));
  if (text.empty()) return;
  const auto [found, is_new] = steps_.try_emplace(writer);
  waiting_bytes_ += is_new ? writer_bytes : 0;
  waiting_bytes_ -= found->second.held_bytes();
  const std::optional<std::string> due = found->second.take(std::move(text), last_);
  waiting_bytes_ += found->second.held_bytes();
  if (due) emit(writer, *due, events);
  if (waiting_bytes_ > waiting_bytes_max) finish(events);
}

/// The last state of the writer's progress, which another line follows.
void LogLines::emit_held(const Writer& writer, std::vector<LogEvent>& events) {
  const auto found = steps_.find(writer);
  if (found == steps_.end() || found->second.held_bytes() == 0) return;
  waiting_bytes_ -= found->second.held_bytes();
  emit(writer, found->second.take_held(), events);
}

/// The beginning of the writer's line, which waits no more; empty if there is none.
std::string LogLines::take_waiting(const Writer& writer) {
  const auto found = waiting_.find(writer);
  if (found == waiting_.end()) return {};
  std::string line = std::move(found->second);
  waiting_.erase(found);
  waiting_bytes_ -= line.size() + writer_bytes;
  return line;
}

void LogLines::emit_own(const job::LogLine& line, std::vector<LogEvent>& events) const {
  LogEvent& event = events.emplace_back();
  event.time = last_;
  const std::string level = line.level == "note" ? "" : line.level + ": ";
  event.message = host_ + own_mark + level + visible_line(line.text);
  event.message.resize(cut_at(event.message, message_bytes_max));
}

void LogLines::emit(const Writer& writer, std::string_view line, std::vector<LogEvent>& events) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string tag = writer.alone ? "" : job::rank_tag(writer.rank, host_, writer.stream);
  const std::string replaced = is_utf8(line) ? std::string() : to_utf8(line);
  std::string_view rest = replaced.empty() ? line : replaced;
  do {
    const std::string front = tag.empty() && is_like_own(rest, host_) ? " " : tag;
    const std::size_t size = cut_at(rest, message_bytes_max - front.size());
    LogEvent& event = events.emplace_back();
    event.time = last_;
    event.rank = writer.rank;
    event.stream = writer.stream;
    event.tag_bytes = static_cast<std::uint32_t>(tag.size());
    event.message.reserve(front.size() + size);
    event.message += front;
    event.message += rest.substr(0, size);
    if (writer.rank < 0) read_tag(event);
    rest.remove_prefix(size);
  } while (!rest.empty());
}

void LogLines::finish(std::vector<LogEvent>& events) {
  const std::map<Writer, std::string> waiting = std::exchange(waiting_, {});
  std::map<Writer, job::Steps> steps = std::exchange(steps_, {});
  waiting_bytes_ = 0;
  for (auto& [writer, progress] : steps)
    if (progress.held_bytes() > 0) emit(writer, progress.take_held(), events);
  for (const auto& [writer, line] : waiting) emit(writer, line, events);
}

}  // namespace muster::logs
