#include "job/wire/flight_record.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "base/terminal.h"
#include "base/text.h"
#include "job/wire/plain_pickle.h"
#include "job/wire/rank_ranges.h"

namespace muster::job {
namespace {

using State = Flight::State;
using Value = PlainPickle::Value;

constexpr std::size_t entries_max = 100'000;
constexpr std::size_t fields_max = 64;  ///< PyTorch's entries have about 20 fields.
constexpr std::size_t lines_max = 20;
constexpr int rank_max = 1'000'000;
constexpr const char* state_names[] = {"completed", "scheduled", "started"};

/// One line of text, shortened to whole characters.
std::string shown(std::string_view text) {
  const std::string line = visible_line(std::string(text.substr(0, flight_text_bytes_max)));
  std::size_t end = 0;
  while (end < line.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(line.substr(end)), 1);
    if (end + length > flight_text_bytes_max) break;
    end += length;
  }
  return line.substr(0, end);
}

std::string text_in(const Value& value) {
  return std::string(value.text().value_or(std::string_view()));
}

State state_named(std::string_view name) {
  for (const State state : {State::scheduled, State::started})
    if (name == state_names[static_cast<int>(state)]) return state;
  return State::completed;
}

/// "nccl:all_reduce" -> "all_reduce".
std::string operation_in(const Value& entry) {
  const std::string name = text_in(entry.at("profiling_name"));
  const std::size_t colon = name.find(':');
  return shown(colon == std::string::npos ? name : name.substr(colon + 1));
}

/// The number of ranks in "[0, 1, 2]".
std::int64_t count_ranks(const Value& group) {
  const std::string ranks = text_in(group.at("ranks"));
  if (ranks.find_first_of("0123456789") == std::string::npos) return 0;
  return 1 + std::count(ranks.begin(), ranks.end(), ',');
}

struct Named {
  std::string name;   ///< The group's name for the program.
  std::string label;  ///< And for people.
};
std::optional<Named> group_in(const Value& entry) {
  const Value group = entry.at("process_group");
  if (group.size() != 2 || !group[0].text()) return std::nullopt;
  Named named{text_in(group[0]), shown(text_in(group[0]))};
  const std::string description = text_in(group[1]);
  if (!description.empty() && description != "undefined" && description != named.name)
    named.label = shown(named.name + " (" + description + ")");
  return named;
}

Error misfit(const char* what) {
  return fail(Errc::protocol, std::string("flights: expected ") + what);
}

std::string text_of(const Flight& flight, const std::set<int>& ranks) {
  const bool is_one = ranks.size() == 1;
  const char* verb = flight.state == State::completed ? " completed "
                     : is_one                         ? " waits in "
                                                      : " wait in ";
  return rank_names(ranks) + verb + flight.operation + " " + std::to_string(flight.number);
}

}  // namespace

Result<std::vector<Flight>> flights_from(int rank, std::string_view dump) {
  const PlainPickle pickle = TRY(PlainPickle::read(dump));
  const Value entries = pickle.root().at("entries");
  const Value groups = pickle.root().at("pg_config");
  std::map<std::string, Flight> found;  // By the group's name.
  for (std::size_t i = 0; i < std::min(entries.size(), entries_max); ++i) {
    const Value entry = entries[i];
    if (entry.size() > fields_max) continue;  // A field is looked for among all of them.
    const std::optional<Named> group = group_in(entry);
    const std::optional<std::int64_t> number = entry.at("collective_seq_id").whole();
    if (!group || !number || entry.at("is_p2p").flag().value_or(false)) continue;
    if (!found.contains(group->name) && found.size() == flight_groups_max) continue;
    Flight& flight = found[group->name];
    if (flight.state != State::completed) continue;
    flight = {.rank = rank,
              .group = group->label,
              .operation = operation_in(entry),
              .number = *number,
              .state = state_named(text_in(entry.at("state")))};
  }
  std::vector<Flight> flights;
  for (auto& [name, flight] : found) {
    flight.size = count_ranks(groups.at(name));
    flights.push_back(std::move(flight));
  }
  return flights;
}

Json to_json(const std::vector<Flight>& flights) {
  Json json = Json::array();
  for (const Flight& each : flights)
    if (json.size() < flights_max)
      json.push_back({{"rank", each.rank},
                      {"group", each.group},
                      {"size", each.size},
                      {"operation", each.operation},
                      {"number", each.number},
                      {"state", state_names[static_cast<int>(each.state)]}});
  return json;
}

Result<std::vector<Flight>> flights_from_json(const Json& json) {
  if (!json.is_array()) return misfit("a list");
  std::vector<Flight> flights;
  for (const Json& each : json) {
    if (flights.size() == flights_max) break;
    if (!each.is_object()) return misfit("objects");
    for (const char* name : {"rank", "size", "number"})
      if (!each.contains(name) || !each[name].is_number_integer()) return misfit("whole numbers");
    for (const char* name : {"group", "operation", "state"})
      if (!each.contains(name) || !each[name].is_string()) return misfit("texts");
    const auto rank = each["rank"].get<std::int64_t>();
    if (rank < 0 || rank > rank_max) return misfit("a rank's number");
    flights.push_back({.rank = static_cast<int>(rank),
                       .group = shown(each["group"].get<std::string>()),
                       .size = each["size"].get<std::int64_t>(),
                       .operation = shown(each["operation"].get<std::string>()),
                       .number = each["number"].get<std::int64_t>(),
                       .state = state_named(each["state"].get<std::string>())});
  }
  return flights;
}

FlightReport flight_report(const std::vector<Flight>& flights) {
  using Place =
      std::tuple<std::int64_t, std::string, bool>;  // Operation, and whether it completed.
  struct Group {
    std::int64_t size = 0;
    std::map<Place, std::pair<const Flight*, std::set<int>>, std::greater<>> places;
    std::set<int> ranks;
    bool waits = false;
  };
  std::map<std::string, Group> groups;
  for (const Flight& each : flights) {
    Group& group = groups[each.group];
    const bool is_over = each.state == State::completed;
    auto& [first, ranks] = group.places[{each.number, each.operation, is_over}];
    if (first == nullptr) first = &each;
    ranks.insert(each.rank);
    group.ranks.insert(each.rank);
    group.size = std::max(group.size, each.size);
    group.waits = group.waits || !is_over;
  }
  FlightReport report;
  for (const auto& [name, group] : groups) {
    if (!group.waits) continue;
    report.waits = true;
    report.differs = report.differs || group.places.size() > 1;
    std::vector<std::string> parts;
    for (const auto& [place, who] : group.places) parts.push_back(text_of(*who.first, who.second));
    const auto known = static_cast<std::int64_t>(group.ranks.size());
    if (group.size > known)
      parts.push_back("no record of " + std::to_string(group.size - known) + " others");
    std::string of;
    if (group.size > 0)
      of = " of " + std::to_string(group.size) + (group.size == 1 ? " rank" : " ranks");
    if (report.lines.size() < lines_max)
      report.lines.push_back("group " + name + of + ": " + join(parts, ", "));
  }
  return report;
}

}  // namespace muster::job
