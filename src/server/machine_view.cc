#include "server/machine_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::server {
namespace {

Json resources(const jobs::Standing& standing) {
  const jobs::Amounts held = jobs::held_by(standing.running);
  jobs::Amounts all = held;
  for (const auto& [name, of] : standing.capacity) all.try_emplace(name, 0);
  Json list = Json::array();
  for (const auto& [name, amount] : all) {
    Json row{{"name", name}, {"held", amount}};
    const auto of = standing.capacity.find(name);
    if (of != standing.capacity.end()) row["of"] = of->second;
    list.push_back(std::move(row));
  }
  return list;
}

Json running(const jobs::Standing& standing) {
  Json list = Json::array();
  for (const jobs::Running& each : standing.running) {
    if (list.size() == machine_rows_max) break;
    list.push_back({{"job", each.demand.job},
                    {"since", each.started.count()},
                    {"needs", Json(each.demand.needs)}});
  }
  return list;
}

Json waiting(const jobs::Queue& queue, UnixMillis now) {
  Json list = Json::array();
  for (const std::string& job : queue.in_order(now)) {
    if (list.size() == machine_rows_max) break;
    list.push_back({{"job", job},
                    {"why", queue.why_waiting(job, now)},
                    {"needs", Json(queue.waiting(job)->needs)}});
  }
  return list;
}

}  // namespace

Json machine_view(const jobs::Queue& queue, UnixMillis now, bool elsewhere) {
  const jobs::Standing& standing = queue.standing();
  return Json{{"resources", resources(standing)},      {"runs", running(standing)},
              {"waits", waiting(queue, now)},          {"run_count", standing.running.size()},
              {"wait_count", standing.waiting.size()}, {"elsewhere", elsewhere}};
}

}  // namespace muster::server
