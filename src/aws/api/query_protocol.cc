#include "aws/api/query_protocol.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "aws/percent.h"
#include "aws/xml.h"
#include "base/dates.h"
#include "base/text.h"

namespace muster::api {

namespace {

constexpr std::size_t fields_max = 10'000;
constexpr std::size_t segments_max = 16;

/// A name's segments as a tree: "Tags.member.1.Key" is four nodes deep.
struct Node {
  std::optional<std::string> text;
  std::map<std::string, Node, std::less<>> children;
};

aws::Refusal malformed(std::string message) {
  return {"MalformedInput", std::move(message)};
}

/// Calls `take(name, value)` for each field, decoded; false if one cannot be, or `take` says so.
template <class Take>
bool each_field(std::string_view form, const Take& take) {
  while (!form.empty()) {
    const std::size_t end = std::min(form.find('&'), form.size());
    const std::string_view field = form.substr(0, end);
    form.remove_prefix(std::min(end + 1, form.size()));
    if (field.empty()) continue;
    const std::size_t equals = std::min(field.find('='), field.size());
    const std::string_view value = field.substr(std::min(equals + 1, field.size()));
    const auto name = aws::percent_decoded(field.substr(0, equals), true);
    const auto text = aws::percent_decoded(value, true);
    if (!name || !text || !is_utf8(*name) || !is_utf8(*text) || !take(*name, *text)) return false;
  }
  return true;
}

/// None if fields are too many, too deep or cannot be decoded.
std::optional<Node> tree(std::string_view form) {
  Node root;
  std::size_t count = 0;
  const bool fine = each_field(form, [&](const std::string& name, const std::string& value) {
    const std::vector<std::string> segments = split(name, '.');
    if (++count > fields_max || segments.size() > segments_max) return false;
    Node* node = &root;
    for (const std::string& segment : segments) node = &node->children[segment];
    node->text = value;
    return true;
  });
  if (!fine) return std::nullopt;
  return root;
}

std::string_view wire_name(const Member& member) {
  return member.wire.empty() ? member.name : member.wire;
}

/// Fields to Json by the model. The first misfit is kept in `refusal`.
class FieldReader {
 public:
  explicit FieldReader(const Service& service) : service_(service) {}

  std::optional<aws::Refusal> refusal;

  Json value(const Shape& shape, const Node& node, const std::string& path) {
    switch (shape.kind) {
      case Kind::structure:
        return structure(shape, node, path);
      case Kind::list:
        return list(shape, node, path);
      case Kind::map:
        return map(shape, node, path);
      default:
        if (!node.children.empty() || !node.text) return misfit(path, "a single value");
        return scalar(shape.kind, *node.text, path);
    }
  }

  /// What the model does not know: texts, and objects of them.
  static Json unknown(const Node& node) {
    if (node.children.empty()) return node.text.value_or("");
    Json object = Json::object();
    for (const auto& [name, child] : node.children) object[name] = unknown(child);
    return object;
  }

  Json structure(const Shape& shape, const Node& node, const std::string& path) {
    if (node.text && !node.text->empty()) return misfit(path, "a structure");
    Json object = Json::object();
    for (const auto& [name, child] : node.children) {
      const std::string place = path.empty() ? name : path + "." + name;
      const Member* member = member_called(shape, name);
      if (member == nullptr)
        object[name] = unknown(child);
      else
        object[std::string(member->name)] = value(service_.shapes[member->shape], child, place);
    }
    return object;
  }

 private:
  const Member* member_called(const Shape& shape, std::string_view name) const {
    for (const Member& member : service_.members_of(shape))
      if (wire_name(member) == name) return &member;
    return nullptr;
  }

  Json misfit(const std::string& path, const std::string& wanted) {
    if (!refusal) refusal = malformed("The parameter " + path + " must be " + wanted + ".");
    return nullptr;
  }

  /// The children "1", "2", ..., in that order; there may be gaps.
  std::vector<const Node*> numbered(const Node& node, const std::string& path) {
    std::map<std::int64_t, const Node*> sorted;
    for (const auto& [name, child] : node.children) {
      const std::optional<std::int64_t> number = parse_integer(name);
      if (!number || *number < 1) {
        misfit(path, "a list");
        return {};
      }
      sorted[*number] = &child;
    }
    std::vector<const Node*> nodes;
    for (const auto& [number, child] : sorted) nodes.push_back(child);
    return nodes;
  }

  /// Where the elements are: below "member" or "entry", or, in flattened lists, right here.
  static const Node& elements(const Node& node, std::string_view name) {
    const auto found = node.children.find(name);
    return found != node.children.end() && node.children.size() == 1 ? found->second : node;
  }

  Json list(const Shape& shape, const Node& node, const std::string& path) {
    if (node.text && !node.text->empty()) return misfit(path, "a list");
    const Shape& element = service_.shapes[service_.members_of(shape)[0].shape];
    Json array = Json::array();
    for (const Node* each : numbered(elements(node, "member"), path))
      array.push_back(value(element, *each, path + "." + std::to_string(array.size() + 1)));
    return array;
  }

  Json map(const Shape& shape, const Node& node, const std::string& path) {
    const Shape& values = service_.shapes[service_.members_of(shape)[1].shape];
    Json object = Json::object();
    for (const Node* each : numbered(elements(node, "entry"), path)) {
      const auto key = each->children.find("key");
      const auto content = each->children.find("value");
      if (key == each->children.end() || !key->second.text || content == each->children.end())
        return misfit(path, "a map");
      object[*key->second.text] = value(values, content->second, path + "." + *key->second.text);
    }
    return object;
  }

  Json scalar(Kind kind, const std::string& text, const std::string& path) {
    if (kind == Kind::string) return text;
    if (kind == Kind::boolean) {
      if (text == "true" || text == "false") return text == "true";
      return misfit(path, "true or false");
    }
    if (kind == Kind::integer || kind == Kind::long_integer) {
      if (const std::optional<std::int64_t> number = parse_integer(text)) return *number;
      return misfit(path, "an integer");
    }
    if (kind == Kind::timestamp)
      if (const std::optional<double> time = parse_iso8601(text)) return *time;
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, number);
    if (code == std::errc() && stop == end && std::isfinite(number)) return number;
    return misfit(path, kind == Kind::timestamp ? "a time" : "a number");
  }

  const Service& service_;
};

void element(std::string_view name, std::string_view content, std::string& out) {
  out += '<';
  out += name;
  out += '>';
  out += content;
  out += "</";
  out += name;
  out += '>';
}

void write_value(const Service& service, const Shape& shape, const Json& json, std::string& out);

void write_members(const Service& service, const Shape& shape, const Json& json, std::string& out) {
  for (const Member& member : service.members_of(shape)) {
    const auto found = json.find(member.name);
    if (found == json.end() || found->is_null()) continue;
    std::string content;
    write_value(service, service.shapes[member.shape], *found, content);
    element(wire_name(member), content, out);
  }
}

void write_map(const Service& service, const Shape& shape, const Json& json, std::string& out) {
  const std::span<const Member> members = service.members_of(shape);
  for (const auto& [key, each] : json.items()) {
    std::string entry;
    element(wire_name(members[0]), aws::xml_escaped(key), entry);
    std::string content;
    write_value(service, service.shapes[members[1].shape], each, content);
    element(wire_name(members[1]), content, entry);
    element("entry", entry, out);
  }
}

void write_value(const Service& service, const Shape& shape, const Json& json, std::string& out) {
  if (shape.kind == Kind::structure) {
    if (json.is_object()) write_members(service, shape, json, out);
  } else if (shape.kind == Kind::map) {
    if (json.is_object()) write_map(service, shape, json, out);
  } else if (shape.kind == Kind::list) {
    if (!json.is_array()) return;
    const Member& member = service.members_of(shape)[0];
    for (const Json& each : json) {
      std::string content;
      write_value(service, service.shapes[member.shape], each, content);
      element(wire_name(member), content, out);
    }
  } else if (shape.kind == Kind::timestamp && json.is_number()) {
    out += iso8601(json.get<double>());
  } else if (json.is_string()) {
    out += aws::xml_escaped(json.get_ref<const std::string&>());
  } else if (json.is_primitive()) {
    out += to_text(json);
  }
}

std::string opened(std::string_view name, std::string_view xml_namespace) {
  std::string out = "<" + std::string(name);
  if (!xml_namespace.empty()) out += " xmlns=\"" + std::string(xml_namespace) + "\"";
  return out + ">";
}

}  // namespace

std::string query_action(std::string_view form) {
  std::string action;
  each_field(form, [&](const std::string& name, const std::string& value) {
    if (name == "Action") action = value;
    return name != "Action";
  });
  return action;
}

Result<Json, aws::Refusal> read_query(const Service& service, const Operation& operation,
                                      std::string_view form) {
  std::optional<Node> root = tree(form);
  if (!root) return malformed("The form fields cannot be parsed.");
  root->children.erase("Action");
  root->children.erase("Version");
  if (operation.input == no_shape) return FieldReader::unknown(*root);
  FieldReader reader(service);
  Json input = reader.structure(service.shapes[operation.input], *root, "");
  if (reader.refusal) return *reader.refusal;
  return input;
}

std::string write_query(const Service& service, const Operation& operation, const Json& output,
                        std::string_view request_id) {
  const std::string name(operation.name);
  std::string members;
  if (operation.output != no_shape && output.is_object())
    write_members(service, service.shapes[operation.output], output, members);
  std::string out = opened(name + "Response", service.xml_namespace);
  if (service.style == Style::ec2) {
    element("requestId", request_id, out);
    out += members;
  } else {
    element(name + "Result", members, out);
    out += "<ResponseMetadata>";
    element("RequestId", request_id, out);
    out += "</ResponseMetadata>";
  }
  return out + "</" + name + "Response>\n";
}

std::string write_query_refusal(const Service* service, const aws::Refusal& refusal,
                                std::string_view request_id) {
  std::string error;
  element("Type", refusal.status < 500 ? "Sender" : "Receiver", error);
  element("Code", aws::xml_escaped(refusal.code), error);
  element("Message", aws::xml_escaped(refusal.message), error);
  std::string out = opened("ErrorResponse", service ? service->xml_namespace : "");
  element("Error", error, out);
  element("RequestId", request_id, out);
  return out + "</ErrorResponse>\n";
}

std::string write_ec2_refusal(const aws::Refusal& refusal, std::string_view request_id) {
  std::string error;
  element("Code", aws::xml_escaped(refusal.code), error);
  element("Message", aws::xml_escaped(refusal.message), error);
  std::string out = "<Response><Errors>";
  element("Error", error, out);
  out += "</Errors>";
  element("RequestID", request_id, out);
  return out + "</Response>\n";
}

}  // namespace muster::api
