#include "job/outcome/said.h"

#include <algorithm>

#include "base/text.h"
#include "job/outcome/program_end.h"

namespace muster::job {
namespace {

constexpr int marks_max = 3;  ///< How many gaps are marked.

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

std::size_t cost_of(const SaidLine& line) {
  return line.text.size() + 1;
}

/// The lines that stay in a text that was too long.
class Choice {
 public:
  Choice(const std::vector<SaidLine>& lines, std::size_t bytes_max)
      : lines_(lines), stays_(lines.size(), false), rest_(bytes_max) {}

  /// The lines before `end`, the last ones first, down to `begin` or as far as `bytes` reach.
  void take_back(std::size_t begin, std::size_t end, std::size_t bytes) {
    while (end > begin && take(end - 1, bytes)) --end;
  }
  void take_on(std::size_t begin, std::size_t end, std::size_t bytes) {
    while (begin < end && take(begin, bytes)) ++begin;
  }
  /// The last lines of each stream.
  void take_last() {
    const std::size_t half = rest_ / 2;
    const std::size_t of_err = std::min(left_of(Stream::err), half);
    const std::size_t of_out = std::min(left_of(Stream::out), half);
    std::size_t err = rest_ - of_out;
    std::size_t out = rest_ - of_err;
    bool err_ends = false;
    bool out_ends = false;
    for (std::size_t at = lines_.size(); at-- > 0;) {
      const bool is_err = lines_[at].stream == Stream::err;
      bool& ends = is_err ? err_ends : out_ends;
      ends = ends || !take(at, is_err ? err : out);
    }
  }
  std::string text() const {
    std::string text;
    bool gap = false;
    int marks = 0;
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      gap = gap || (!stays_[at] && !text.empty());
      if (!stays_[at]) continue;
      if (gap && marks++ < marks_max) text += std::string(left_out) + "\n";
      gap = false;
      text += lines_[at].text + "\n";
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  bool take(std::size_t at, std::size_t& bytes) {
    const std::size_t cost = cost_of(lines_[at]);
    if (stays_[at]) return true;
    if (cost > bytes || cost > rest_) return false;
    stays_[at] = true;
    bytes -= cost;
    rest_ -= cost;
    return true;
  }
  std::size_t left_of(Stream stream) const {
    std::size_t bytes = 0;
    for (std::size_t at = 0; at < lines_.size(); ++at)
      if (!stays_[at] && lines_[at].stream == stream) bytes += cost_of(lines_[at]);
    return bytes;
  }

  const std::vector<SaidLine>& lines_;
  std::vector<bool> stays_;
  std::size_t rest_;
};

}  // namespace

std::string shortened(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const std::size_t kept = bytes_max - left_out.size() - 2;
  std::size_t head = kept / 2;
  while (head > 0 && continues_character(text[head])) --head;
  std::size_t tail = text.size() - kept / 2;
  while (tail < text.size() && continues_character(text[tail])) ++tail;
  return std::string(text.substr(0, head)) + " " + std::string(left_out) + " " +
         std::string(text.substr(tail));
}

std::string said_text(const std::vector<SaidLine>& lines, std::size_t bytes_max) {
  constexpr std::size_t marks = marks_max * (left_out.size() + 1);
  std::vector<SaidLine> said = lines;
  while (!said.empty() && said.back().text.empty()) said.pop_back();
  if (said.empty()) return {};
  std::size_t all = 0;
  for (SaidLine& line : said) {
    line.text = shortened(line.text, bytes_max / 4);
    all += cost_of(line);
  }
  Choice choice(said, all <= bytes_max + 1 ? all : bytes_max - marks);
  if (all > bytes_max + 1) {
    const Ending cause = ending_of(said, nullptr);
    choice.take_back(cause.begin, cause.error_at, bytes_max / 2);
    choice.take_on(cause.error_at, cause.end, bytes_max / 4);
  }
  choice.take_last();
  return choice.text();
}

}  // namespace muster::job
