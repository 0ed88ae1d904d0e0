#include "base/yaml.h"

#include <yaml.h>

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t node_weight = 16;  // An empty node is not free.
constexpr std::string_view standard_tags = "tag:yaml.org,2002:";

std::string line_of(const yaml_mark_t& mark) {
  return "line " + std::to_string(mark.line + 1);
}

class Event final {
 public:
  Event() = default;
  ~Event() { yaml_event_delete(&event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  std::string line() const { return line_of(event.start_mark); }

  yaml_event_t event{};
};

std::string_view view_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

bool is_number_like(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
    return false;
  if (text.front() == '-') text.remove_prefix(1);
  if (text.empty() || text.front() < '0' || text.front() > '9') return false;
  return text.size() == 1 || text[0] != '0' || text[1] == '.' || text[1] == 'e' || text[1] == 'E';
}

/// What a plain value means by the core schema.
Json plain_value(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (text.starts_with("0x"))
    if (const auto number = whole_number<std::uint64_t>(text.substr(2), 16)) return *number;
  if (text.starts_with("0o"))
    if (const auto number = whole_number<std::uint64_t>(text.substr(2), 8)) return *number;
  if (is_number_like(text)) {
    if (const auto number = whole_number<std::int64_t>(text)) return *number;
    if (const auto number = whole_number<std::uint64_t>(text)) return *number;
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && at == end && std::isfinite(number)) return number;
  }
  return std::string(text);
}

bool is_null(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

Json scalar_value(const YamlNode& node, const YamlOptions& options) {
  // Quoted texts are what they say, and so is what a tag speaks of.
  if (node.kind != YamlNode::Kind::plain) return node.text;
  if (is_null(node.text)) return node.tag.empty() ? Json() : Json(node.text);
  return options.is_text_kept ? Json(node.text) : plain_value(node.text);
}

/// Builds the document from the parser's events.
class Reader final {
 public:
  explicit Reader(std::string_view text) {
    is_ready_ = yaml_parser_initialize(&parser_) == 1;
    if (!is_ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Reader() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Result<YamlNode> document() {
    if (!is_ready_) return fail(Errc::system, "out of memory while reading YAML");
    TRY(expect(YAML_STREAM_START_EVENT));
    Event first;
    TRY(next(first));
    if (first.event.type == YAML_STREAM_END_EVENT)
      return fail(Errc::invalid_input, "the YAML document is empty");
    Event root;
    TRY(next(root));
    Weighed read = TRY(node(root, 1));
    TRY(expect(YAML_DOCUMENT_END_EVENT));
    Event last;
    TRY(next(last));
    if (last.event.type != YAML_STREAM_END_EVENT)
      return fail(Errc::invalid_input,
                  last.line() + ": expected only one YAML document, but a second one starts here");
    return std::move(read.node);
  }

 private:
  struct Weighed {
    YamlNode node;
    std::size_t weight = 0;
  };

  Result<void> next(Event& event) {
    if (yaml_parser_parse(&parser_, &event.event) == 1) return {};
    const std::string what = parser_.problem == nullptr ? "unreadable" : parser_.problem;
    // The reader of bytes knows an offset and no line.
    const std::string where = parser_.error == YAML_READER_ERROR
                                  ? "byte " + std::to_string(parser_.problem_offset)
                                  : line_of(parser_.problem_mark);
    return fail(Errc::invalid_input, where + ": not YAML: " + what);
  }

  Result<void> expect(yaml_event_type_t type) {
    Event event;
    TRY(next(event));
    if (event.event.type == type) return {};
    return fail(Errc::invalid_input, event.line() + ": expected one YAML document");
  }

  Result<void> weigh(const Event& event, std::size_t weight) {
    weight_ += weight;
    if (weight_ <= yaml_weight_max) return {};
    return fail(Errc::invalid_input, event.line() + ": the document exceeds " +
                                         std::to_string(yaml_weight_max >> 20) +
                                         " MiB after all aliases are expanded");
  }

  Result<Weighed> node(const Event& event, int depth) {
    if (depth > yaml_nesting_max)
      return fail(Errc::invalid_input, event.line() + ": lists and maps are nested deeper than " +
                                           std::to_string(yaml_nesting_max) + " levels");
    const yaml_event_t& e = event.event;
    if (e.type == YAML_ALIAS_EVENT) return repeated(event);
    const std::size_t before = weight_;
    YamlNode read;
    std::string_view anchor;
    if (e.type == YAML_SCALAR_EVENT) {
      anchor = view_of(e.data.scalar.anchor);
      read = TRY(scalar(event));
    } else if (e.type == YAML_SEQUENCE_START_EVENT) {
      anchor = view_of(e.data.sequence_start.anchor);
      read = TRY(sequence(event, depth));
    } else if (e.type == YAML_MAPPING_START_EVENT) {
      anchor = view_of(e.data.mapping_start.anchor);
      read = TRY(mapping(event, depth));
    } else {
      return fail(Errc::invalid_input, event.line() + ": expected one YAML document");
    }
    read.line = event.event.start_mark.line + 1;
    Weighed weighed{std::move(read), weight_ - before};
    if (!anchor.empty()) {
      TRY(weigh(event, weighed.weight));  // An anchored node is kept a second time.
      anchors_.insert_or_assign(std::string(anchor), weighed);
    }
    return weighed;
  }

  Result<Weighed> repeated(const Event& event) {
    const std::string name(view_of(event.event.data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end())
      return fail(Errc::invalid_input, event.line() + ": the alias *" + name +
                                           " refers to an anchor that is missing or not complete");
    TRY(weigh(event, found->second.weight));
    return found->second;
  }

  Result<YamlNode> scalar(const Event& event) {
    const auto& data = event.event.data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(data.value), data.length);
    TRY(weigh(event, node_weight + text.size()));
    YamlNode read{.kind = kind_of(data.style), .text = std::string(text)};
    read.tag = view_of(data.tag);
    if (read.tag == YAML_STR_TAG) read.kind = YamlNode::Kind::quoted;
    return read;
  }

  static YamlNode::Kind kind_of(yaml_scalar_style_t style) {
    if (style == YAML_PLAIN_SCALAR_STYLE) return YamlNode::Kind::plain;
    const bool block = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    return block ? YamlNode::Kind::block : YamlNode::Kind::quoted;
  }

  Result<YamlNode> sequence(const Event& start, int depth) {
    TRY(weigh(start, node_weight));
    YamlNode list{.kind = YamlNode::Kind::list};
    list.tag = view_of(start.event.data.sequence_start.tag);
    while (true) {
      Event event;
      TRY(next(event));
      if (event.event.type == YAML_SEQUENCE_END_EVENT) return list;
      Weighed item = TRY(node(event, depth + 1));
      list.items.push_back(std::move(item.node));
    }
  }

  Result<YamlNode> mapping(const Event& start, int depth) {
    TRY(weigh(start, node_weight));
    YamlNode map{.kind = YamlNode::Kind::map};
    map.tag = view_of(start.event.data.mapping_start.tag);
    std::set<std::string> keys;
    while (true) {
      Event event;
      TRY(next(event));
      if (event.event.type == YAML_MAPPING_END_EVENT) return map;
      std::string key = TRY(key_of(event));
      if (!keys.insert(key).second)
        return fail(Errc::invalid_input, event.line() + ": the key " + key + " appears twice");
      Event value;
      TRY(next(value));
      Weighed item = TRY(node(value, depth + 1));
      item.node.key = std::move(key);
      item.node.key_line = event.event.start_mark.line + 1;
      map.items.push_back(std::move(item.node));
    }
  }

  Result<std::string> key_of(const Event& event) {
    if (event.event.type != YAML_SCALAR_EVENT)
      return fail(Errc::invalid_input,
                  event.line() + ": a key is a list, a map or an alias; expected a string");
    const auto& data = event.event.data.scalar;
    const std::string key(reinterpret_cast<const char*>(data.value), data.length);
    TRY(weigh(event, node_weight + key.size()));
    if (key == "<<" && data.style == YAML_PLAIN_SCALAR_STYLE)
      return fail(Errc::invalid_input, event.line() + ": merge keys (<<) are not supported");
    return key;
  }

  yaml_parser_t parser_{};
  bool is_ready_ = false;
  std::size_t weight_ = 0;
  std::map<std::string, Weighed> anchors_;
};

}  // namespace

Result<YamlNode> read_yaml(std::string_view text) {
  if (text.size() > yaml_bytes_max)
    return fail(Errc::invalid_input, std::to_string(text.size()) +
                                         " bytes of YAML exceed the limit of " +
                                         std::to_string(yaml_bytes_max));
  return Reader(text).document();
}

Result<Json> json_of(const YamlNode& node, const YamlOptions& options) {
  Json json;
  if (node.is_scalar()) {
    json = scalar_value(node, options);
  } else if (node.kind == YamlNode::Kind::list) {
    json = Json::array();
    for (const YamlNode& item : node.items) json.push_back(TRY(json_of(item, options)));
  } else {
    json = Json::object();
    for (const YamlNode& item : node.items) json.emplace(item.key, TRY(json_of(item, options)));
  }
  if (node.tag.empty() || node.tag.starts_with(standard_tags)) return json;
  const std::string line = "line " + std::to_string(node.line);
  if (!options.tagged || node.tag == "!")
    return fail(Errc::invalid_input, line + ": the tag " + node.tag + " is not supported here");
  Result<Json> meant = options.tagged(node.tag, std::move(json));
  if (!meant) return meant.error().in(line);
  return meant;
}

Result<Json> parse_yaml(std::string_view text, const YamlOptions& options) {
  const YamlNode node = TRY(read_yaml(text));
  return json_of(node, options);
}

}  // namespace muster
