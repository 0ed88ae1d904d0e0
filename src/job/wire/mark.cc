#include "job/wire/mark.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace muster::job {
namespace {

constexpr std::array<std::string_view, 10> names = {"root",     "inputs",  "begun", "joined",
                                                    "gathered", "checked", "code",  "packages",
                                                    "launched", "rank"};

}  // namespace

std::string_view mark_name(Mark mark) {
  return names[static_cast<std::size_t>(mark)];
}

std::optional<Mark> mark_named(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Mark>(i);
  return std::nullopt;
}

std::string encode(const Moment& moment) {
  Json json = Json::object();
  json["mark"] = std::string(mark_name(moment.mark));
  if (moment.bytes >= 0) json["bytes"] = moment.bytes;
  return to_text(json);
}

Result<Moment> moment_from(std::string_view payload) {
  const Json json = TRY(parse_json(payload));
  const auto invalid = [] {
    return fail(Errc::protocol, "expected an object {mark, bytes} for each mark");
  };
  if (!json.is_object() || !json.contains("mark") || !json["mark"].is_string()) return invalid();
  const std::optional<Mark> mark = mark_named(json["mark"].get_ref<const std::string&>());
  if (!mark) return invalid();
  Moment moment{*mark};
  if (!json.contains("bytes")) return moment;
  if (!json["bytes"].is_number_integer() || json["bytes"] < 0) return invalid();
  moment.bytes = json["bytes"].get<std::int64_t>();
  return moment;
}

}  // namespace muster::job
