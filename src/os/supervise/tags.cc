#include "os/supervise/tags.h"

#include <algorithm>

#include "job/outcome/rank_tag.h"

namespace muster::supervise {

std::string TagWriter::tagged(const std::string& host, const job::Lines& lines) {
  if (lines.bytes.empty()) return {};
  const std::string tag = job::rank_tag(lines.rank, host, lines.stream);
  const std::string writer = tag.empty() ? host + job::stream_name(lines.stream) : tag;
  std::string text;
  const std::size_t count =
      static_cast<std::size_t>(std::count(lines.bytes.begin(), lines.bytes.end(), '\n'));
  text.reserve(lines.bytes.size() + (count + 1) * tag.size() + 1);
  bool continues = open_ && *open_ == writer;
  if (open_ && !continues) text += '\n';
  open_.reset();
  std::string_view rest = lines.bytes;
  while (!rest.empty()) {
    if (!continues) text += tag;
    continues = false;
    const std::size_t newline = rest.find('\n');
    const std::size_t length = newline == std::string_view::npos ? rest.size() : newline + 1;
    text += rest.substr(0, length);
    rest.remove_prefix(length);
  }
  if (lines.part) open_ = writer;
  return text;
}

}  // namespace muster::supervise
