#include "platform/journals/log_lines.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::platform {
namespace {

/// Approximate cost of a writer with an unfinished line, besides the line's bytes.
constexpr std::size_t writer_bytes = 64;

bool is_for_users(const std::string& level) {
  return level == "error" || level == "warning" || level == "note";
}

}  // namespace

void LogLines::take(const job::Record& record, const Take& take) {
  if (record.seq == 1) {
    finish(take);  // An earlier attempt may have no end.
    ++chapters_;
  }
  if (record.kind == job::Message::phase) {
    const Result<job::PhaseChange> change = job::phase_from(record.payload);
    if (!change || !job::is_end(change->phase)) return;
    last_ = std::max(last_, record.time);
    return finish(take);
  }
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (!line || !is_for_users(line->level)) return;
    last_ = std::max(last_, record.time);
    return take({.time = last_, .attempt = attempt(), .level = line->level, .text = line->text});
  }
  if (record.kind != job::Message::lines) return;
  const Result<job::Lines> lines = job::lines_from(record.payload);
  if (lines) this->take(record.time, *lines, take);
}

void LogLines::take(UnixMillis time, const job::Lines& lines, const Take& take) {
  last_ = std::max(last_, time);
  const Writer writer{lines.rank, lines.alone, lines.stream};
  const std::string_view bytes = lines.bytes;
  if (lines.steps) return take_steps(writer, bytes, take);
  const std::size_t end = bytes.rfind('\n');
  if (end == std::string_view::npos) return add(writer, bytes, take);
  give_held(writer, take);
  const std::string waiting = take_waiting(writer);
  if (waiting.empty())
    give(writer, bytes.substr(0, end), take);
  else
    give(writer, waiting + std::string(bytes.substr(0, end)), take);
  add(writer, bytes.substr(end + 1), take);
}

/// Keeps a piece of a line until its end comes, or until there is too much of it or of all pieces.
void LogLines::add(const Writer& writer, std::string_view bytes, const Take& take) {
  if (bytes.empty()) return;
  const auto [found, is_new] = waiting_.try_emplace(writer);
  found->second += bytes;
  waiting_bytes_ += bytes.size() + (is_new ? writer_bytes : 0);
  if (found->second.size() >= piece_bytes_) give(writer, take_waiting(writer), take);
  if (waiting_bytes_ > waiting_bytes_max()) finish(take);
}

void LogLines::take_steps(const Writer& writer, std::string_view bytes, const Take& take) {
  const std::string all = take_waiting(writer) + std::string(bytes);
  std::string text(job::last_step(all));
  if (text.empty()) return;
  const auto [found, is_new] = steps_.try_emplace(writer);
  waiting_bytes_ += is_new ? writer_bytes : 0;
  waiting_bytes_ -= found->second.held_bytes();
  const std::optional<std::string> due = found->second.take(std::move(text), last_);
  waiting_bytes_ += found->second.held_bytes();
  if (due) give(writer, *due, take);
  if (waiting_bytes_ > waiting_bytes_max()) finish(take);
}

/// The last state of the writer's progress, which another line follows.
void LogLines::give_held(const Writer& writer, const Take& take) {
  const auto found = steps_.find(writer);
  if (found == steps_.end() || found->second.held_bytes() == 0) return;
  waiting_bytes_ -= found->second.held_bytes();
  give(writer, found->second.take_held(), take);
}

/// Removes and returns the beginning of the writer's line; empty if there is none.
std::string LogLines::take_waiting(const Writer& writer) {
  const auto found = waiting_.find(writer);
  if (found == waiting_.end()) return {};
  std::string line = std::move(found->second);
  waiting_.erase(found);
  waiting_bytes_ -= line.size() + writer_bytes;
  return line;
}

void LogLines::give(const Writer& writer, std::string_view text, const Take& take) const {
  take({.time = last_,
        .rank = writer.rank,
        .alone = writer.alone,
        .stream = writer.stream,
        .attempt = attempt(),
        .text = text});
}

void LogLines::finish(const Take& take) {
  const std::map<Writer, std::string> waiting = std::exchange(waiting_, {});
  std::map<Writer, job::Steps> steps = std::exchange(steps_, {});
  waiting_bytes_ = 0;
  for (auto& [writer, progress] : steps)
    if (progress.held_bytes() > 0) give(writer, progress.take_held(), take);
  for (const auto& [writer, line] : waiting) give(writer, line, take);
}

}  // namespace muster::platform
