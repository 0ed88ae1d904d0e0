#include "aws/api/validate.h"

#include <re2/re2.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "aws/api/constraints.h"
#include "aws/api/model.h"
#include "aws/api/rules.h"
#include "base/text.h"

namespace muster::api {

namespace {

constexpr std::size_t failures_shown_max = 20;

/// "resourceConfig.instanceType" from "resourceConfig" and "InstanceType".
std::string below(const std::string& path, std::string_view member) {
  std::string name(member);
  if (!name.empty() && name[0] >= 'A' && name[0] <= 'Z') name[0] = static_cast<char>(name[0] + 32);
  return path.empty() ? name : path + "." + name;
}

class Checker {
 public:
  explicit Checker(const Service& service) : service_(service) {}

  void check(const Shape& shape, const Json& value, const std::string& path) {
    switch (shape.kind) {
      case Kind::structure:
        return structure(shape, value, path);
      case Kind::list:
        return list(shape, value, path);
      case Kind::map:
        return map(shape, value, path);
      default:
        for (std::string& constraint : broken(service_, shape, value))
          add(shown_value(value), path, std::move(constraint));
    }
  }

  Result<void, aws::Refusal> result() const {
    if (count_ == 0) return {};
    const std::string number = std::to_string(count_);
    return aws::Refusal{std::string(validation_code(service_.name)),
                        number + " validation error" + (count_ == 1 ? "" : "s") +
                            " detected: " + join(failures_, "; ")};
  }

 private:
  void add(const std::string& value, const std::string& path, std::string constraint) {
    ++count_;
    if (failures_.size() >= failures_shown_max) return;
    failures_.push_back("Value " + value + " at '" + path +
                        "' failed to satisfy constraint: " + std::move(constraint));
  }

  void structure(const Shape& shape, const Json& value, const std::string& path) {
    for (const Member& member : service_.members_of(shape)) {
      const auto found = value.find(member.name);
      const bool missing = found == value.end() || found->is_null();
      if (missing && member.required)
        add("null", below(path, member.name), "Member must not be null");
      if (!missing) check(service_.shapes[member.shape], *found, below(path, member.name));
    }
  }

  void list(const Shape& shape, const Json& value, const std::string& path) {
    size(shape, value, path);
    const Shape& element = service_.shapes[service_.members[shape.first].shape];
    int number = 0;
    for (const Json& each : value) {
      const std::string place = path + "." + std::to_string(++number) + ".member";
      if (each.is_null())
        add("null", place, "Member must not be null");
      else if (is_nested(element))
        check(element, each, place);
      else if (all_of(element, each, value, path, "Member must satisfy constraint: "))
        return;  // One says it of all.
    }
  }

  void map(const Shape& shape, const Json& value, const std::string& path) {
    size(shape, value, path);
    const Shape& keys = service_.shapes[service_.members[shape.first].shape];
    const Shape& values = service_.shapes[service_.members[shape.first + 1u].shape];
    bool keys_told = false;
    bool values_told = false;
    for (const auto& [key, each] : value.items()) {
      if (!keys_told)
        keys_told = all_of(keys, key, value, path, "Map keys must satisfy constraint: ");
      if (each.is_null())
        add("null", path + "." + key + ".member", "Member must not be null");
      else if (is_nested(values))
        check(values, each, path + "." + key + ".member");
      else if (!values_told)
        values_told = all_of(values, each, value, path, "Map value must satisfy constraint: ");
    }
  }

  void size(const Shape& shape, const Json& value, const std::string& path) {
    for (std::string& constraint : broken(service_, shape, value))
      add(shown_value(value), path, std::move(constraint));
  }

  /// Where one element breaks one of its constraints, AWS names all of them, of the whole.
  bool all_of(const Shape& shape, const Json& element, const Json& whole, const std::string& path,
              std::string_view text) {
    if (broken(service_, shape, element).empty()) return false;
    add(shown_value(whole), path,
        std::string(text) + "[" + join(constraints(service_, shape), ", ") + "]");
    return true;
  }

  static bool is_nested(const Shape& shape) {
    return shape.kind == Kind::structure || shape.kind == Kind::list || shape.kind == Kind::map;
  }

  const Service& service_;
  std::vector<std::string> failures_;
  std::size_t count_ = 0;
};

/// Why `value` cannot be what `shape` is; none if it can.
std::optional<std::string> misfit(const Service& service, const Shape& shape, const Json& value,
                                  const std::string& path) {
  if (value.is_null()) return std::nullopt;
  if (std::optional<std::string> text = type_misfit(shape.kind, value))
    return *text + " (at " + (path.empty() ? "the top" : path) + ")";
  const std::span<const Member> members = service.members_of(shape);
  if (shape.kind == Kind::structure) {
    for (const Member& member : members) {
      const auto found = value.find(member.name);
      if (found == value.end()) continue;
      if (auto text =
              misfit(service, service.shapes[member.shape], *found, below(path, member.name)))
        return text;
    }
  } else if (shape.kind == Kind::list || shape.kind == Kind::map) {
    const Shape& element = service.shapes[members[shape.kind == Kind::list ? 0 : 1].shape];
    int number = 0;
    for (const auto& [key, each] : value.items()) {
      const std::string name = shape.kind == Kind::list ? std::to_string(++number) : key;
      if (auto text = misfit(service, element, each, path + "." + name + ".member")) return text;
    }
  }
  return std::nullopt;
}

Json known_part(const Service& service, const Shape& shape, const Json& value) {
  const std::span<const Member> members = service.members_of(shape);
  Json known = value;
  if (shape.kind == Kind::structure && value.is_object()) {
    known = Json::object();
    for (const Member& member : members)
      if (const auto found = value.find(member.name); found != value.end())
        known[std::string(member.name)] = known_part(service, service.shapes[member.shape], *found);
  } else if (shape.kind == Kind::list && value.is_array()) {
    for (Json& each : known) each = known_part(service, service.shapes[members[0].shape], each);
  } else if (shape.kind == Kind::map && value.is_object()) {
    for (Json& each : known) each = known_part(service, service.shapes[members[1].shape], each);
  }
  return known;
}

}  // namespace

Json only_known(std::string_view service_name, std::string_view operation_name, const Json& input) {
  const Service* service = find_service(service_name);
  const Operation* operation = service ? find_operation(*service, operation_name) : nullptr;
  if (operation == nullptr || operation->input == no_shape) return Json::object();
  return known_part(*service, service->shapes[operation->input], input);
}

std::string_view validation_code(std::string_view service) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> codes = {{
      {"logs", "InvalidParameterException"},
      {"ecr", "InvalidParameterException"},
      {"monitoring", "ValidationError"},
      {"iam", "ValidationError"},
      {"sts", "ValidationError"},
      {"ec2", "InvalidParameterValue"},
      {"cloudformation", "ValidationError"},
  }};
  for (const auto& [name, code] : codes)
    if (name == service) return code;
  return "ValidationException";
}

Result<void, aws::Refusal> validate(std::string_view service_name, std::string_view operation_name,
                                    const Json& input) {
  const Service* service = find_service(service_name);
  const Operation* operation = service ? find_operation(*service, operation_name) : nullptr;
  if (operation == nullptr || operation->input == no_shape) return {};
  const Shape& shape = service->shapes[operation->input];
  if (std::optional<std::string> text = misfit(*service, shape, input, ""))
    return aws::Refusal{"SerializationException", *text};
  Checker checker(*service);
  checker.check(shape, input, "");
  TRY(checker.result());
  return check_rules(service_name, operation_name, input);
}

}  // namespace muster::api
