#include "cli/view/sgr.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"

namespace muster::cli {
namespace {

constexpr std::string_view introducer = "\x1b[";
/// A longer sequence is shown as text; the web page has the same limit.
constexpr std::size_t parameters_bytes_max = 64;
/// Larger parameters, which have no meaning, are read as this one.
constexpr int parameter_max = 999;

/// The members of a TextStyle.
enum Part : std::size_t { bold, faint, italic, underlined, blinking, inverse, colour_of, ground };

/// The parameters of the sequence at the beginning of `bytes`; none: it is no SGR sequence.
std::optional<std::string_view> parameters_at(std::string_view bytes) {
  if (!bytes.starts_with(introducer)) return std::nullopt;
  bytes = bytes.substr(introducer.size(), parameters_bytes_max + 1);
  const std::size_t end = bytes.find_first_not_of("0123456789;");
  if (end == std::string_view::npos || bytes[end] != 'm') return std::nullopt;
  return bytes.substr(0, end);
}

/// A missing parameter is 0.
std::vector<int> codes_of(std::string_view parameters) {
  std::vector<int> codes(1);
  for (const char c : parameters) {
    if (c == ';')
      codes.push_back(0);
    else
      codes.back() = std::min(codes.back() * 10 + (c - '0'), parameter_max);
  }
  return codes;
}

/// How many parameters the colour at `at` ("38;5;N", "48;2;R;G;B") has; 0: it is malformed.
std::size_t colour_length(const std::vector<int>& codes, std::size_t at) {
  if (at + 1 == codes.size() || (codes[at + 1] != 5 && codes[at + 1] != 2)) return 0;
  const std::size_t length = codes[at + 1] == 5 ? 3 : 5;
  if (codes.size() - at < length) return 0;
  for (std::size_t i = at + 2; i < at + length; ++i)
    if (codes[i] > 255) return 0;
  return length;
}

/// The part of a TextStyle that `code` sets; none: it sets nothing.
std::optional<Part> set_by(int code) {
  switch (code) {
    case 1:
      return bold;
    case 2:
      return faint;
    case 3:
      return italic;
    case 4:
    case 21:
      return underlined;
    case 5:
      return blinking;
    case 7:
      return inverse;
    default:
      break;
  }
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return colour_of;
  if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) return ground;
  return std::nullopt;
}

/// The parts that `code` ends.
std::vector<Part> ended_by(int code) {
  switch (code) {
    case 22:
      return {bold, faint};
    case 23:
      return {italic};
    case 24:
      return {underlined};
    case 25:
      return {blinking};
    case 27:
      return {inverse};
    case 39:
      return {colour_of};
    case 49:
      return {ground};
    default:
      return {};
  }
}

void apply(std::string_view parameters, TextStyle& style) {
  const std::vector<int> codes = codes_of(parameters);
  std::size_t length = 1;
  for (std::size_t at = 0; at < codes.size(); at += length) {
    const int code = codes[at];
    const bool wide = code == 38 || code == 48;
    length = wide ? colour_length(codes, at) : 1;
    if (length == 0) return;  // What follows may belong to the malformed colour.
    std::string text = std::to_string(code);
    for (std::size_t i = 1; i < length; ++i) text += ";" + std::to_string(codes[at + i]);
    if (code == 0) style = {};
    for (const Part part : ended_by(code)) style[part].clear();
    if (wide)
      style[code == 38 ? colour_of : ground] = text;
    else if (const std::optional<Part> part = set_by(code))
      style[*part] = text;
  }
}

/// Sets this style, whatever the style was before.
std::string sequence_of(const TextStyle& style) {
  std::string sequence = "\x1b[0";
  for (const std::string& parameters : style)
    if (!parameters.empty()) sequence += ";" + parameters;
  return sequence + "m";
}

}  // namespace

std::string painted(std::string_view bytes, bool colour, TextStyle& style) {
  // Most lines are plain.
  if (style == TextStyle{} && bytes.find('\x1b') == std::string_view::npos) return visible(bytes);
  std::string out;
  TextStyle shown;  // The style at the end of `out`.
  const auto turn_to = [&](const TextStyle& wanted) {
    if (colour && shown != wanted) out += sequence_of(wanted);
    shown = wanted;
  };
  const auto show = [&](std::string_view text) {
    if (text.empty()) return;
    turn_to(style);
    out += visible(text);
  };
  std::size_t from = 0;
  std::size_t at = 0;
  while ((at = bytes.find_first_of("\x1b\n", at)) != std::string_view::npos) {
    std::string_view text = bytes.substr(from, at - from);
    if (bytes[at] == '\n') {
      if (text.ends_with('\r')) text.remove_suffix(1);
      show(text);
      style = {};
      turn_to(style);
      out += '\n';
      from = ++at;
      continue;
    }
    const std::optional<std::string_view> parameters = parameters_at(bytes.substr(at));
    if (!parameters) {
      ++at;
      continue;
    }
    show(text);
    apply(*parameters, style);
    from = at += introducer.size() + parameters->size() + 1;
  }
  show(bytes.substr(from));
  turn_to({});
  return out;
}

std::string first_of(std::string painted, std::size_t characters) {
  std::size_t at = 0;
  while (at < painted.size()) {
    if (painted[at] == '\x1b') {
      at = painted.find('m', at) + 1;
      continue;
    }
    if (characters-- == 0) break;
    at += std::max<std::size_t>(utf8_length(std::string_view(painted).substr(at)), 1);
  }
  if (at >= painted.size()) return painted;
  painted.resize(at);
  if (painted.find('\x1b') != std::string::npos) painted += sequence_of({});
  return painted;
}

}  // namespace muster::cli
