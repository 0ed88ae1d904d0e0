#include "cli/view/cause_view.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fields.h"
#include "base/process/local_time.h"
#include "base/terminal.h"
#include "cli/view/job_view.h"

namespace muster::cli {
namespace {

std::optional<std::int64_t> number(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string seconds(std::int64_t ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f s", static_cast<double>(ms) / 1e3);
  return text.data();
}

/// "2026-01-31 12:00:00 +00:00, 0.49 s after algo-2's start, while running"
std::string when(const Json& cause) {
  const std::optional<std::int64_t> time = number(cause, "time_ms");
  if (!time) return {};
  std::string text = zoned_text(UnixMillis(*time));
  if (const std::optional<std::int64_t> after = number(cause, "after_ms"))
    text +=
        ", " + seconds(*after) + " after " + visible_line(member_text(cause, "host")) + "'s start";
  const std::string doing = visible_line(member_text(cause, "doing"));
  if (!doing.empty()) text += ", while " + doing;
  return text;
}

std::string then(const Json& cause) {
  const std::int64_t victims = number(cause, "victims").value_or(0);
  if (victims <= 0) return {};
  std::string text = std::to_string(victims);
  text += victims == 1 ? " other rank ended because of it" : " other ranks ended because of it";
  if (const std::optional<std::int64_t> within = number(cause, "within_ms"))
    text += ", within " + seconds(*within);
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> cause_fields(const Json& cause) {
  std::vector<std::pair<std::string, std::string>> fields;
  if (!cause.is_object()) return fields;
  const auto add = [&](const char* name, std::string value) {
    if (!value.empty()) fields.emplace_back(name, std::move(value));
  };
  add("When", when(cause));
  add("Then", then(cause));
  add("Hint", visible_line(member_text(cause, "advice")));
  return fields;
}

std::string cause_lines(const Json& cause) {
  std::string text;
  for (auto& [name, value] : cause_fields(cause)) {
    std::string label = name;
    label[0] = static_cast<char>(std::tolower(label[0]));
    text += "  " + label + ": " + value + "\n";
  }
  return text;
}

}  // namespace muster::cli
