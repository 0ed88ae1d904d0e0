#include "aws/api/without_effect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "aws/api/field_table.h"
#include "aws/api/inputs.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// Whether the member says anything, in any element of the lists on its way: `false`, "" and {} do
/// not.
bool is_said(const Json& value, std::string_view path) {
  if (value.is_array() && !path.empty())
    return std::any_of(value.begin(), value.end(),
                       [&](const Json& each) { return is_said(each, path); });
  if (!path.empty()) {
    const std::size_t dot = path.find('.');
    const auto found = value.is_object() ? value.find(path.substr(0, dot)) : value.end();
    if (found == value.end()) return false;
    return is_said(*found, dot == std::string_view::npos ? "" : path.substr(dot + 1));
  }
  return !value.is_null() && value != Json(false) && value != Json("") &&
         !(value.is_structured() && value.empty());
}

bool is_fast_file(const Json& input) {
  const Json& channels = elements(input, "InputDataConfig");
  return text_of(inside(input, {"AlgorithmSpecification"}), "TrainingInputMode") == "FastFile" ||
         std::any_of(channels.begin(), channels.end(), [](const Json& channel) {
           return text_of(channel, "InputMode") == "FastFile";
         });
}

}  // namespace

std::string without_effect(const Json& input) {
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view instead) {
    text += text.empty() ? "accepted without effect: " : ", ";
    text.append(name).append(" (").append(instead).append(")");
  };
  if (is_fast_file(input)) add("FastFile", "as File: all data is copied before the job starts");
  for (const FieldRow& row : create_training_job_rows()) {
    if (row.treatment != Treatment::without_effect) continue;
    for (const std::string& path : split_words(row.paths))
      if (is_said(input, path)) add(path, row.what);
  }
  return text;
}

}  // namespace muster::api
