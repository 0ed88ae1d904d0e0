#include "server/cloudwatch/log_view.h"

#include <algorithm>

namespace muster::cloudwatch {
namespace {

/// Longer lines are not compared with others.
constexpr std::size_t folded_bytes_max = 1024;
/// What rows that more writers may join take; beyond, the first of them are closed.
constexpr std::size_t open_bytes_max = 16u << 20;
constexpr std::size_t open_row_bytes = 256;  ///< Besides the text, roughly.

/// Adds a writer; false: it is one of them.
bool insert(Writers& writers, int writer) {
  auto next = std::upper_bound(writers.begin(), writers.end(), writer,
                               [](int wanted, const auto& range) { return wanted < range.first; });
  if (next != writers.begin()) {
    auto before = std::prev(next);
    if (before->second >= writer) return false;
    if (before->second + 1 == writer) {
      before->second = writer;
      if (next != writers.end() && next->first == writer + 1) {
        before->second = next->second;
        writers.erase(next);
      }
      return true;
    }
  }
  if (next != writers.end() && next->first == writer + 1)
    next->first = writer;
  else
    writers.insert(next, {writer, writer});
  return true;
}

/// What all lines of NCCL's INFO level are compared as. No line has it.
constexpr std::string_view nccl_text = "\n";

bool is_one(const Writers& writers) {
  return writers.size() == 1 && writers[0].first == writers[0].second;
}

}  // namespace

bool is_nccl_info(std::string_view line) {
  constexpr std::size_t name_bytes_max = 256;
  const std::size_t at = line.substr(0, name_bytes_max).find("] NCCL INFO ");
  if (at == std::string_view::npos) return false;
  const std::string_view start = line.substr(0, at);  // "node7:4711:4720 [0"
  const std::size_t space = start.find(' ');
  return space != std::string_view::npos && start.substr(space).starts_with(" [") &&
         std::count(start.begin(), start.begin() + static_cast<std::ptrdiff_t>(space), ':') >= 2;
}

bool LineFilter::takes(const LogEvent& event) const {
  if (rank && event.rank != *rank) return false;
  if (stream && event.stream != *stream) return false;
  return least == Level::any || level_of(event.line()) >= least;
}

void LogView::add(std::uint64_t number, std::size_t host, const LogEvent& event) {
  looked_to_ = number + 1;
  if (is_full() || !filter_.takes(event)) return;
  const bool is_nccl = folds_ && is_nccl_info(event.line());
  const bool compared = folds_ && (is_nccl || event.line().size() <= folded_bytes_max);
  const std::string_view text = is_nccl ? nccl_text : event.line();
  const int writer = event.rank >= 0 ? event.rank : -1 - static_cast<int>(host);
  if (folds_) close(event.time);
  if (compared && join(writer, event.time, text, is_nccl)) return;
  rows_.push_back({number, 0, is_nccl ? 1u : 0u});
  bytes_ += sizeof(Row);
  if (!compared) return;
  const std::size_t row = rows_.size() - 1;
  const Open& open = open_[row] = {event.time, std::string(text), {{writer, writer}}};
  open_bytes_ += open.bytes();
  last_of_text_.erase(open.text);  // The key lies in a row that may end before this one.
  last_of_text_.emplace(open.text, row);
}

std::size_t LogView::Open::bytes() const {
  return open_row_bytes + text.size() + writers.size() * sizeof(Writers::value_type);
}

/// Makes the writer one of those of a row that is open; false: none has that text, it has no room
/// for more, or it has the writer already, who wrote it twice then, which only NCCL may.
bool LogView::join(int writer, UnixMillis time, std::string_view text, bool is_nccl) {
  const auto last = last_of_text_.find(text);
  if (last == last_of_text_.end()) return false;
  Open& open = open_.at(last->second);
  if (time - open.since > fold_span || open.writers.size() >= ranges_max) return false;
  open_bytes_ -= open.bytes();
  const bool is_new = insert(open.writers, writer);
  open_bytes_ += open.bytes();
  if (is_nccl) ++rows_[last->second].nccl_lines;
  return is_new || is_nccl;
}

/// Ends rows that none can join any more.
void LogView::close(UnixMillis now) {
  while (!open_.empty() &&
         (now - open_.begin()->second.since > fold_span || open_bytes_ > open_bytes_max)) {
    auto& [row, open] = *open_.begin();
    if (!is_one(open.writers)) {
      const auto [known, is_new] =
          numbers_of_known_.try_emplace(open.writers, static_cast<std::uint32_t>(known_.size()));
      if (is_new) {
        bytes_ += 2 * sizeof(Writers) + 2 * sizeof(Writers::value_type) * open.writers.size();
        known_.push_back(open.writers);
      }
      rows_[row].writers = known->second;
    }
    const auto last = last_of_text_.find(open.text);
    if (last != last_of_text_.end() && last->second == row) last_of_text_.erase(last);
    open_bytes_ -= open.bytes();
    open_.erase(open_.begin());
  }
}

Writers LogView::writers_of(std::size_t row) const {
  const auto open = open_.find(row);
  if (open == open_.end()) return known_[rows_[row].writers];
  return is_one(open->second.writers) ? Writers() : open->second.writers;
}

std::size_t LogView::row_at(std::uint64_t number) const {
  const auto found =
      std::lower_bound(rows_.begin(), rows_.end(), number,
                       [](const Row& row, std::uint64_t wanted) { return row.number < wanted; });
  return static_cast<std::size_t>(found - rows_.begin());
}

bool LogView::has(std::uint64_t number) const {
  const std::size_t row = row_at(number);
  return row < rows_.size() && rows_[row].number == number;
}

}  // namespace muster::cloudwatch
