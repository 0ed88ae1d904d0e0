#include "os/supervise/last_words.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace muster::supervise {
namespace {

constexpr std::size_t line_extra_bytes = 64;  ///< What a kept line takes beside its text.

std::size_t cost_of(std::size_t text_bytes) {
  return std::min(text_bytes, LastWords::line_bytes_max) + line_extra_bytes;
}

/// The last lines of bytes that end where a line does, in their order, as many as are kept at most.
/// A read has far more, and for each one costs.
std::vector<std::string_view> last_lines_in(std::string_view bytes) {
  std::vector<std::string_view> lines;
  std::size_t cost = 0;
  while (cost < LastWords::stream_bytes_max) {
    const void* found = bytes.empty() ? nullptr : ::memrchr(bytes.data(), '\n', bytes.size());
    const std::size_t begin =
        found == nullptr
            ? 0
            : static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data()) + 1;
    lines.push_back(bytes.substr(begin));
    cost += cost_of(lines.back().size());
    if (begin == 0) break;
    bytes.remove_suffix(bytes.size() - begin + 1);
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

}  // namespace

void LastWords::Open::add(std::string_view bytes, std::uint64_t read) {
  if (bytes.empty()) return;
  if (returned_) text_.clear();
  returned_ = bytes.back() == '\r';
  if (returned_) bytes.remove_suffix(1);
  const std::size_t step = bytes.rfind('\r');
  if (step != std::string_view::npos) {
    text_.clear();
    bytes.remove_prefix(step + 1);
  }
  if (text_.empty()) began_ = read;
  ended_ = read;
  // Enough of the end for what comes to push it out by and by.
  constexpr std::size_t most = 4 * line_bytes_max;
  if (bytes.size() > most && text_.size() < line_bytes_max) {
    text_ += bytes.substr(0, line_bytes_max);
    bytes.remove_prefix(line_bytes_max);
  }
  if (bytes.size() > most) bytes.remove_prefix(bytes.size() - most);
  text_ += bytes;
  if (text_.size() > 2 * most) text_ = job::shortened(text_, most);
}

job::SaidLine LastWords::Open::line(job::Stream stream) const {
  return {stream, job::shortened(text_, line_bytes_max), began_, ended_};
}

void LastWords::add(job::Stream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  ++reads_;
  Half& half = stream == job::Stream::err ? err_ : out_;
  const std::size_t first = bytes.find('\n');
  half.open.add(bytes.substr(0, first), reads_);
  if (first != std::string_view::npos) {
    close(half);
    bytes.remove_prefix(first + 1);
    const void* last = bytes.empty() ? nullptr : ::memrchr(bytes.data(), '\n', bytes.size());
    if (last != nullptr) {
      const std::size_t end =
          static_cast<std::size_t>(static_cast<const char*>(last) - bytes.data());
      for (const std::string_view line : last_lines_in(bytes.substr(0, end))) {
        half.open.add(line, reads_);
        close(half);
      }
      bytes.remove_prefix(end + 1);
    }
    half.open.add(bytes, reads_);
  }
  if (!half.open.empty()) half.open_number = ++number_;
}

void LastWords::close(Half& half) {
  job::SaidLine line = half.open.line(half.stream);
  if (half.open.empty()) line.began = line.ended = reads_;
  half.bytes += cost_of(line.text.size());
  half.lines.push_back({++number_, std::move(line)});
  half.open = {};
  while (half.bytes > stream_bytes_max) {
    half.bytes -= cost_of(half.lines.front().line.text.size());
    half.lines.pop_front();
  }
}

std::vector<job::SaidLine> LastWords::lines() const {
  std::vector<Numbered> all;
  for (const Half* half : {&out_, &err_}) {
    all.insert(all.end(), half->lines.begin(), half->lines.end());
    if (!half->open.empty()) all.push_back({half->open_number, half->open.line(half->stream)});
  }
  std::sort(all.begin(), all.end(),
            [](const Numbered& a, const Numbered& b) { return a.number < b.number; });
  std::vector<job::SaidLine> lines;
  for (Numbered& each : all) lines.push_back(std::move(each.line));
  return lines;
}

}  // namespace muster::supervise
