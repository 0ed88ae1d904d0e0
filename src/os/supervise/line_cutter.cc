#include "os/supervise/line_cutter.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace muster::supervise {
namespace {

/// One past the end of the first line of `bytes`, which end with a line's end; and whether that is
/// a lone '\r'.
std::pair<std::size_t, bool> first_end(std::string_view bytes) {
  const std::size_t at = bytes.find_first_of("\r\n");
  if (at == std::string_view::npos) return {bytes.size(), false};
  if (bytes[at] == '\n') return {at + 1, false};
  if (at + 1 < bytes.size() && bytes[at + 1] == '\n') return {at + 2, false};
  return {at + 1, true};
}

/// One past the last `wanted` in `bytes`, 0 if there is none. (string_view::rfind goes byte by
/// byte.)
std::size_t after_last(std::string_view bytes, char wanted) {
  if (bytes.empty()) return 0;
  const void* found = ::memrchr(bytes.data(), wanted, bytes.size());
  if (found == nullptr) return 0;
  return static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data()) + 1;
}

/// One past the last line end in `bytes`; 0 if there is none. A '\r' at the very end may still be
/// followed by its '\n', so it does not count.
std::size_t after_last_end(std::string_view bytes) {
  const std::size_t newline = after_last(bytes, '\n');
  std::string_view rest = bytes.substr(newline);
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return newline + after_last(rest, '\r');
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, const Emit& emit) {
  const bool held_return = !pending_.empty() && pending_.back() == '\r';
  if (held_return && !bytes.empty() && bytes[0] != '\n') {
    give_whole(take_pending(), emit);
  }
  const std::size_t end = after_last_end(bytes);
  if (end > 0) {
    pending_.append(bytes.substr(0, end));
    give_whole(take_pending(), emit);
  }
  pending_.append(bytes.substr(end));
  while (pending_.size() > job::line_bytes_max) {
    emit(pending_.substr(0, job::line_bytes_max), Kind::part);
    pending_.erase(0, job::line_bytes_max);
    in_part_ = true;
  }
}

std::string LineSplitter::take_pending() {
  std::string taken;
  taken.swap(pending_);
  return taken;
}

void LineSplitter::give_whole(std::string_view bytes, const Emit& emit) {
  in_part_ = false;
  if (bytes.find('\r') == std::string_view::npos)
    return give_run(std::string(bytes), Kind::whole, emit);
  std::string run;
  Kind kind = Kind::whole;
  while (!bytes.empty()) {
    const auto [end, step] = first_end(bytes);
    const Kind now = step ? Kind::steps : Kind::whole;
    if (now != kind && !run.empty()) give_run(std::exchange(run, {}), kind, emit);
    kind = now;
    run += bytes.substr(0, end);
    if (step) run += '\n';
    bytes.remove_prefix(end);
  }
  give_run(std::move(run), kind, emit);
}

void LineSplitter::give_run(std::string run, Kind kind, const Emit& emit) {
  std::string_view rest = run;
  while (rest.size() > job::line_bytes_max) {
    const std::size_t newline = rest.rfind('\n', job::line_bytes_max - 1);
    const bool part = newline == std::string_view::npos;
    const std::size_t count = part ? job::line_bytes_max : newline + 1;
    emit(std::string(rest.substr(0, count)), part ? Kind::part : kind);
    rest.remove_prefix(count);
  }
  emit(rest.size() == run.size() ? std::move(run) : std::string(rest), kind);
}

void LineSplitter::flush_quiet(const Emit& emit) {
  if (pending_.empty()) return;
  if (pending_.back() == '\r') return give_whole(take_pending(), emit);
  emit(take_pending(), Kind::part);
  in_part_ = true;
}

void LineSplitter::finish(const Emit& emit) {
  if (pending_.empty() && !in_part_) return;
  if (pending_.empty() || pending_.back() != '\r') pending_ += '\n';
  give_whole(take_pending(), emit);
}

}  // namespace muster::supervise
