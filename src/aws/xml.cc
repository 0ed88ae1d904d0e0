#include "aws/xml.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace muster::aws {
namespace {

constexpr std::size_t shown_bytes_max = 300;

/// UTF-8 of a code point; nothing for what is none.
std::string utf8(unsigned long code) {
  const auto byte = [](unsigned long value) { return static_cast<char>(value); };
  if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return "";
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000)
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

/// What "&name;" stands for; the entity as it is if it is none that we know.
std::string resolved(std::string_view name) {
  if (name == "lt") return "<";
  if (name == "gt") return ">";
  if (name == "amp") return "&";
  if (name == "quot") return "\"";
  if (name == "apos") return "'";
  if (name.starts_with('#')) {
    const bool is_hex = name.starts_with("#x");
    name.remove_prefix(is_hex ? 2 : 1);
    unsigned long code = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), code, is_hex ? 16 : 10);
    if (error == std::errc() && end == name.data() + name.size()) return utf8(code);
  }
  return "&" + std::string(name) + ";";
}

std::string unescaped(std::string_view text) {
  std::string plain;
  while (true) {
    const std::size_t at = text.find('&');
    plain += text.substr(0, at);
    if (at == std::string_view::npos) return plain;
    text.remove_prefix(at);
    const std::size_t end = text.find(';');
    if (end == std::string_view::npos || end > 12) {
      plain += '&';
      text.remove_prefix(1);
      continue;
    }
    plain += resolved(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
}

/// Where the text behind the start tag `name` begins; none if there is no such tag.
std::optional<std::size_t> behind_tag(std::string_view xml, std::string_view name) {
  const std::string start = "<" + std::string(name);
  for (std::size_t at = xml.find(start); at != std::string_view::npos;
       at = xml.find(start, at + 1)) {
    const std::size_t next = at + start.size();
    if (next >= xml.size()) return std::nullopt;
    if (xml[next] == '>') return next + 1;
    if (xml[next] != ' ') continue;  // Another element whose name begins alike.
    const std::size_t end = xml.find('>', next);
    if (end == std::string_view::npos || xml[end - 1] == '/') return std::nullopt;
    return end + 1;
  }
  return std::nullopt;
}

std::string shown(const std::optional<std::string>& text) {
  std::string line = to_utf8(text.value_or("").substr(0, shown_bytes_max));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  return trim(line);
}

}  // namespace

std::optional<std::string> xml_text(std::string_view xml, std::string_view name) {
  const std::optional<std::size_t> begin = behind_tag(xml, name);
  if (!begin) return std::nullopt;
  const std::size_t end = xml.find('<', *begin);
  if (end == std::string_view::npos) return std::nullopt;
  if (!xml.substr(end).starts_with("</" + std::string(name) + ">")) return std::nullopt;
  return unescaped(xml.substr(*begin, end - *begin));
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += c;
  }
  return escaped;
}

S3Failure s3_failure(std::string_view xml) {
  if (!behind_tag(xml, "Error")) return {};
  return {shown(xml_text(xml, "Code")), shown(xml_text(xml, "Message")),
          shown(xml_text(xml, "Region"))};
}

}  // namespace muster::aws
