#include "cli/view/own_metrics.h"

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "cli/view/job_view.h"

namespace muster::cli {

void OwnMetrics::take(const std::string& host, UnixMillis time, const job::Lines& lines) {
  std::vector<platform::LogEvent> events;
  hosts_.try_emplace(host, host).first->second.take(time, lines, events);
  for (const platform::LogEvent& event : events)
    for (const job::MetricValue& each : definitions_.values_in(event.message))
      last_[each.name] = {event.time, each.value};
}

Json OwnMetrics::last() const {
  Json list = Json::array();
  for (const auto& [name, last] : last_)
    list.push_back({{"MetricName", name},
                    {"Value", last.value},
                    {"Timestamp", static_cast<double>(last.time.count()) / 1000}});
  return list;
}

std::vector<job::MetricDefinition> metric_definitions_in(const Json& description) {
  std::vector<job::MetricDefinition> definitions;
  const Json algorithm = description.value("AlgorithmSpecification", Json::object());
  for (const Json& each : algorithm.value("MetricDefinitions", Json::array()))
    definitions.push_back({member_text(each, "Name"), member_text(each, "Regex")});
  return definitions;
}

}  // namespace muster::cli
