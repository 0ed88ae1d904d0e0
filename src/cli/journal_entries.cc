#include "cli/journal_entries.h"

#include <algorithm>
#include <optional>

namespace muster::cli {
namespace {

/// A longer line is shown in pieces.
constexpr std::size_t line_bytes_most = job::line_bytes_max;

}  // namespace

void JournalEntries::take(const job::Record& record, std::vector<LogEntry>& entries) {
  time_ = std::max(time_, record.time);
  if (record.seq == 1) finish(entries);  // An earlier attempt may have no end.
  if (record.kind == job::Message::lines) {
    const Result<job::Lines> lines = job::lines_from(record.payload);
    if (lines) take(record.time, *lines, entries);
  }
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (!line || (line->level != "error" && line->level != "warning")) return;
    entries.push_back({.kind = LogEntry::Kind::own,
                       .time = time_,
                       .host = host_,
                       .name = line->level,
                       .text = line->text});
  }
}

void JournalEntries::take(UnixMillis time, const job::Lines& lines,
                          std::vector<LogEntry>& entries) {
  time_ = std::max(time_, time);
  const Key key{lines.rank, lines.stream};
  Writer& writer = writers_[key];
  if (lines.steps) return take_steps(key, writer, lines.bytes, entries);
  if (std::string held = writer.steps.take_held(); !held.empty())
    emit(key, std::move(held), entries);
  const std::string_view bytes = lines.bytes;
  const std::size_t end = bytes.rfind('\n');
  writer.waiting += bytes.substr(0, end);
  const bool whole = end != std::string_view::npos;
  if (!whole && writer.waiting.size() < line_bytes_most) return;
  emit(key, std::exchange(writer.waiting, {}), entries);
  if (whole) writer.waiting = bytes.substr(end + 1);
}

void JournalEntries::take_steps(const Key& key, Writer& writer, std::string_view bytes,
                                std::vector<LogEntry>& entries) {
  const std::string all = std::exchange(writer.waiting, {}) + std::string(bytes);
  std::string text(job::last_step(all));
  if (text.empty()) return;
  std::optional<std::string> due = writer.steps.take(std::move(text), time_);
  if (due) emit(key, *std::move(due), entries);
}

void JournalEntries::emit(const Key& key, std::string text, std::vector<LogEntry>& entries) const {
  entries.push_back({.time = time_,
                     .host = host_,
                     .rank = key.first,
                     .stream = key.second,
                     .text = std::move(text)});
}

void JournalEntries::finish(std::vector<LogEntry>& entries) {
  for (auto& [key, writer] : writers_) {
    std::string text = std::exchange(writer.waiting, {});
    if (text.empty()) text = writer.steps.take_held();
    if (!text.empty()) emit(key, std::move(text), entries);
  }
}

}  // namespace muster::cli
