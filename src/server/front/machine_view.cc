#include "server/front/machine_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace muster::server {
namespace {

Json resources(const jobs::Queue& queue) {
  jobs::Amounts all;
  for (const auto& [number, run] : queue.running()) jobs::add(all, run.demand.needs, 1);
  for (const auto& [name, of] : queue.capacity()) all.try_emplace(name, 0);
  Json list = Json::array();
  for (const auto& [name, amount] : all) {
    Json row{{"name", name}, {"held", amount}};
    const auto of = queue.capacity().find(name);
    if (of != queue.capacity().end()) row["of"] = of->second;
    const auto note = queue.notes().find(name);
    if (note != queue.notes().end()) row["note"] = note->second;
    list.push_back(std::move(row));
  }
  return list;
}

Json running(const jobs::Queue& queue) {
  Json list = Json::array();
  for (const auto& [number, each] : queue.running()) {
    if (list.size() == machine_rows_max) break;
    list.push_back({{"job", each.demand.job},
                    {"key", each.demand.key},
                    {"since", each.started.count()},
                    {"needs", Json(each.demand.needs)}});
  }
  return list;
}

Json waiting(const jobs::Queue& queue, UnixMillis now) {
  Json list = Json::array();
  for (const jobs::Place& place : queue.in_order(now, machine_rows_max)) {
    const jobs::Demand& demand = place.job->demand;
    list.push_back({{"job", demand.job},
                    {"why", queue.why_waiting(demand.job, now)},
                    {"needs", Json(demand.needs)}});
  }
  return list;
}

}  // namespace

Json machine_view(const jobs::Queue& queue, UnixMillis now, bool elsewhere) {
  return Json{{"resources", resources(queue)},       {"runs", running(queue)},
              {"waits", waiting(queue, now)},        {"run_count", queue.running().size()},
              {"wait_count", queue.waiting_count()}, {"elsewhere", elsewhere}};
}

}  // namespace muster::server
