#include "server/runs/run_query.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "aws/api/inputs.h"

namespace muster::runs {
namespace {

using store::RunKey;

constexpr std::size_t columns_max = 50;
constexpr std::size_t filters_max = 8;
constexpr std::size_t name_bytes_max = 256;
constexpr std::int64_t limit_usual = 100;
constexpr std::int64_t limit_max = 200;
constexpr std::size_t token_bytes_max = 4096;
/// Beyond any date and duration; its milliseconds are integers.
constexpr double seconds_max = 1e12;
/// The highest number in a token; also beyond any date's milliseconds.
constexpr std::int64_t place_max = std::int64_t{1} << 53;

/// By Field. Those of named columns end in a colon.
constexpr std::array<std::string_view, 9> field_texts = {
    "name", "status", "created", "duration", "hp:", "tag:", "last:", "least:", "most:"};
/// By Test.
constexpr std::array<std::string_view, 9> test_texts = {"=",  "!=",       "<",      "<=",     ">",
                                                        ">=", "contains", "exists", "missing"};

std::string_view field_text(Field field) {
  return field_texts[static_cast<std::size_t>(field)];
}

Error refused(std::string text) {
  return fail(Errc::invalid_input, std::move(text));
}

Result<Column> column_in(const Json& json) {
  const std::optional<Column> column =
      json.is_string() ? column_named(json.get_ref<const std::string&>()) : std::nullopt;
  if (!column) return refused("unknown column; a name must have 1 to 256 bytes");
  return *column;
}

bool is_time(Field field) {
  return field == Field::created || field == Field::duration;
}

bool has_test(const Column& column, Test test) {
  const Field field = column.field;
  switch (test) {
    case Test::equal:
    case Test::unequal:
      return !is_time(field);
    case Test::less:
    case Test::at_most:
    case Test::more:
    case Test::at_least:
      return is_time(field) || column.is_named();
    case Test::contains:
      return field == Field::name || field == Field::hyperparameter || field == Field::tag;
    case Test::exists:
    case Test::missing:
      return field == Field::duration || column.is_named();
  }
  return false;
}

bool needs_number(const Column& column) {
  return is_time(column.field) || column.is_metric();
}

Result<RunKey> value_in(const Column& column, Test test, const Json& json) {
  store::RunValue value;
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > store::run_value_bytes_max)
      return refused("the value of a filter must have at most 256 bytes");
    const bool is_text = test == Test::contains || (!column.is_named() && !is_time(column.field));
    value = is_text ? store::RunValue{text, text} : store::run_value(text);
  } else if (json.is_number_integer() && !json.is_number_unsigned()) {
    value.key = json.get<std::int64_t>();
  } else if (json.is_number()) {
    value.key = store::run_key(json.get<double>());
  } else {
    return refused("the value of a filter must be a text or a number");
  }
  if (needs_number(column) != value.is_number() && (needs_number(column) || !column.is_named()))
    return refused(needs_number(column) ? "this column is compared with numbers only"
                                        : "this column is compared with texts only");
  if (test == Test::contains && value.is_number())
    return refused("the value of contains must be a text");
  if (!is_time(column.field)) return std::move(value.key);
  const double seconds = std::visit(
      [](const auto& number) {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>)
          return static_cast<double>(number);
        return 0.0;
      },
      value.key);
  if (std::abs(seconds) > seconds_max) return refused("a time is out of range");
  return RunKey(static_cast<std::int64_t>(std::llround(seconds * 1000)));
}

Result<Filter> filter_in(const Json& json) {
  if (!json.is_object()) return refused("a filter must be an object");
  const Json none;
  const auto part = [&](const char* name) -> const Json& {
    return json.contains(name) ? json.at(name) : none;
  };
  Filter filter{TRY(column_in(part("column")))};
  const std::string is = api::text_of(json, "is");
  const auto* const found = std::find(test_texts.begin(), test_texts.end(), is);
  if (found == test_texts.end()) return refused("a filter has an unknown operator");
  filter.test = static_cast<Test>(found - test_texts.begin());
  if (!has_test(filter.column, filter.test))
    return refused("the operator " + is + " is unsupported for this column");
  const bool has_value = filter.test != Test::exists && filter.test != Test::missing;
  if (has_value)
    filter.value = TRY(value_in(filter.column, filter.test, part("value")));
  else if (!part("value").is_null())
    return refused("the operator " + is + " has no value");
  return filter;
}

/// A member that is a list of at most `most`.
Result<std::vector<Json>> list_in(const Json& input, const char* name, std::size_t most) {
  if (!input.contains(name)) return std::vector<Json>();
  const Json& list = input.at(name);
  if (!list.is_array() || list.size() > most)
    return refused(std::string(name) + " must be a list of at most " + std::to_string(most));
  return std::vector<Json>(list.begin(), list.end());
}

}  // namespace

std::optional<Column> column_named(std::string_view text) {
  for (std::size_t i = 0; i < field_texts.size(); ++i) {
    Column column{static_cast<Field>(i)};
    if (!column.is_named() && text == field_texts[i]) return column;
    if (!column.is_named() || !text.starts_with(field_texts[i])) continue;
    column.name = text.substr(field_texts[i].size());
    if (column.name.empty() || column.name.size() > name_bytes_max) return std::nullopt;
    return column;
  }
  return std::nullopt;
}

std::string column_text(const Column& column) {
  return std::string(field_text(column.field)) + column.name;
}

Result<Query> query_in(const Json& input) {
  Query query;
  for (const Json& each : TRY(list_in(input, "columns", columns_max))) {
    query.columns.push_back(TRY(column_in(each)));
    if (!query.columns.back().is_named())
      return refused("columns must be hyperparameters, tags or metrics");
  }
  for (const Json& each : TRY(list_in(input, "filters", filters_max)))
    query.filters.push_back(TRY(filter_in(each)));
  if (input.contains("sort")) query.sort = TRY(column_in(input.at("sort")));
  const Json* const descending = input.contains("descending") ? &input.at("descending") : nullptr;
  if (descending != nullptr && !descending->is_boolean())
    return refused("descending must be true or false");
  query.descending = descending != nullptr && descending->get<bool>();
  const std::int64_t limit =
      input.contains("limit") ? api::integer_of(input, "limit").value_or(0) : limit_usual;
  if (limit < 1 || limit > limit_max) return refused("limit must be from 1 to 200");
  query.limit = static_cast<std::size_t>(limit);
  if (!input.contains("after")) return query;
  query.after = place_of(api::text_of(input, "after"));
  if (!query.after) return refused("the token of a page is invalid");
  return query;
}

std::string token_of(const Place& place) {
  const Json value = std::visit([](const auto& key) { return Json(key); }, place.value);
  return api::page_token({static_cast<int>(place.part), value, place.job, place.now.count()});
}

std::optional<Place> place_of(const std::string& token) {
  if (token.size() > token_bytes_max) return std::nullopt;
  const std::optional<Json> json = api::place_of(token);
  if (!json || !json->is_array() || json->size() != 4) return std::nullopt;
  std::array<std::int64_t, 4> numbers{};
  for (const std::size_t i : {0u, 2u, 3u}) {
    const Json& number = json->at(i);
    numbers[i] = number.is_number_integer() ? number.get<std::int64_t>() : -1;
    if (numbers[i] < 0 || numbers[i] > place_max) return std::nullopt;
  }
  if (numbers[0] > static_cast<int>(Part::missing)) return std::nullopt;
  Place place;
  place.part = static_cast<Part>(numbers[0]);
  const Json& value = json->at(1);
  const bool is_good = place.part == Part::texts ? value.is_string() : value.is_number();
  if (!is_good) return std::nullopt;
  if (value.is_string())
    place.value = value.get<std::string>();
  else if (value.is_number_integer())
    place.value = value.get<std::int64_t>();
  else
    place.value = value.get<double>();
  place.job = numbers[2];
  place.now = UnixMillis(numbers[3]);
  return place;
}

}  // namespace muster::runs
