#include "server/log_lines.h"

#include <algorithm>

#include "base/text.h"

namespace muster::server {
namespace {

/// As TagWriter's (src/supervise/tags.h): docs/protocols/exit-codes.md shows the form.
std::string tag_of(int rank, job::Stream stream, const std::string& host) {
  if (rank < 0) return {};
  return "[1,mpirank:" + std::to_string(rank) + "," + host + "]" +
         (stream == job::Stream::err ? "<stderr>:" : "<stdout>:");
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
  if (record.kind == job::Message::phase) {
    const Result<job::PhaseChange> change = job::phase_from(record.payload);
    if (!change || !job::is_end(change->phase)) return;
    last_ = std::max(last_, record.time);
    return finish(events);
  }
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (!line || (line->level != "error" && line->level != "warning")) return;
    last_ = std::max(last_, record.time);
    return emit({-1, job::Stream::err}, host_ + " muster: " + line->level + ": " + line->text,
                events);
  }
  if (record.kind != job::Message::lines) return;
  const Result<job::Lines> lines = job::lines_from(record.payload);
  if (!lines) return;
  last_ = std::max(last_, record.time);
  const Writer writer{lines->alone ? -1 : lines->rank, lines->stream};
  std::string_view rest = lines->bytes;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return add(writer, rest, events);
    const auto found = waiting_.find(writer);
    if (found == waiting_.end()) {
      emit(writer, rest.substr(0, end), events);
    } else {
      const std::string line = std::move(found->second) + std::string(rest.substr(0, end));
      waiting_.erase(found);
      emit(writer, line, events);
    }
    rest.remove_prefix(end + 1);
  }
}

/// Keeps a piece of a line until its end comes, or until it is as long as a message may be.
void LogLines::add(const Writer& writer, std::string_view bytes, std::vector<LogEvent>& events) {
  std::string& line = waiting_[writer];
  line += bytes;
  if (line.size() < message_bytes_max) return;
  const std::string whole = std::move(line);
  waiting_.erase(writer);
  emit(writer, whole, events);
}

void LogLines::emit(const Writer& writer, std::string_view line, std::vector<LogEvent>& events) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::string tag = tag_of(writer.first, writer.second, host_);
  const std::string replaced = is_utf8(line) ? std::string() : to_utf8(line);
  std::string_view rest = replaced.empty() ? line : replaced;
  do {
    const std::size_t size = cut_at(rest, message_bytes_max - tag.size());
    LogEvent& event = events.emplace_back();
    event.time = last_;
    event.message.reserve(tag.size() + size);
    event.message += tag;
    event.message += rest.substr(0, size);
    rest.remove_prefix(size);
  } while (!rest.empty());
}

std::size_t LogLines::waiting_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [writer, line] : waiting_) bytes += line.size();
  return bytes;
}

void LogLines::finish(std::vector<LogEvent>& events) {
  const std::map<Writer, std::string> waiting = std::move(waiting_);
  waiting_.clear();
  for (const auto& [writer, line] : waiting) emit(writer, line, events);
}

}  // namespace muster::server
