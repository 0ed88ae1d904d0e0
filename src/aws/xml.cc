#include "aws/xml.h"

#include <algorithm>
#include <pugixml.hpp>

#include "base/text.h"

namespace muster::aws {
namespace {

constexpr std::size_t shown_bytes_max = 300;

/// U+FFFE and U+FFFF are no characters of XML.
bool is_no_character(std::string_view utf8) {
  return utf8.starts_with("\xef\xbf\xbe") || utf8.starts_with("\xef\xbf\xbf");
}

/// False for text that is not a document, or is empty.
bool load(pugi::xml_document& document, std::string_view xml) {
  return document.load_buffer(xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata,
                              pugi::encoding_utf8);
}

std::optional<std::string> element_text(const pugi::xml_document& document,
                                        const std::string& name) {
  const pugi::xml_node element =
      document.find_node([&name](const pugi::xml_node& node) { return node.name() == name; });
  if (!element) return std::nullopt;
  for (const pugi::xml_node& node : element)
    if (node.type() == pugi::node_element) return std::nullopt;
  return to_utf8(element.text().get());
}

std::string shown(const std::optional<std::string>& text) {
  std::string line = to_utf8(text.value_or("").substr(0, shown_bytes_max));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
  return trim(line);
}

}  // namespace

std::optional<std::string> xml_text(std::string_view xml, const std::string& name) {
  pugi::xml_document document;
  return load(document, xml) ? element_text(document, name) : std::nullopt;
}

void put_xml(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) {
    return c >= ' ' && c < '\x7f' && c != '<' && c != '>' && c != '&' && c != '"';
  };
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out += text;
    return;
  }
  const std::string fine = is_utf8(text) ? std::string(text) : to_utf8(text);
  for (std::size_t i = 0; i < fine.size(); ++i) {
    const char c = fine[i];
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\r')
      out += "&#13;";
    else if (c >= 0 && c < ' ' && c != '\t' && c != '\n')
      out += "\xef\xbf\xbd";
    else if (is_no_character(std::string_view(fine).substr(i))) {
      out += "\xef\xbf\xbd";
      i += 2;
    } else {
      out += c;
    }
  }
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  put_xml(escaped, text);
  return escaped;
}

S3Failure s3_failure(std::string_view xml) {
  pugi::xml_document document;
  const bool is_read = load(document, xml);
  if (!is_read || std::string_view(document.document_element().name()) != "Error") return {};
  return {shown(element_text(document, "Code")), shown(element_text(document, "Message")),
          shown(element_text(document, "Region"))};
}

}  // namespace muster::aws
