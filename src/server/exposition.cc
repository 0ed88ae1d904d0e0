#include "server/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

namespace muster::server {
namespace {

void append_number(std::string& text, double value) {
  std::array<char, 32> digits{};
  const bool whole = std::fabs(value) < 1e15 && std::floor(value) == value;
  const auto end = whole ? std::to_chars(digits.data(), digits.data() + digits.size(),
                                         static_cast<long long>(value))
                         : std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end.ptr);
}

void append_escaped(std::string& text, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void Exposition::sample(Labels labels, double value, std::string_view suffix) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [name, text] : labels) {
    text_.append(1, before).append(name).append("=\"");
    append_escaped(text_, text);
    text_ += '"';
    before = ',';
  }
  if (labels.size() > 0) text_ += '}';
  text_ += ' ';
  append_number(text_, value);
  text_ += '\n';
}

}  // namespace muster::server
