#include "jobs/queue.h"

#include <algorithm>

#include "base/result.h"

namespace muster::jobs {
namespace {

std::vector<Demand>::const_iterator find(const std::vector<Demand>& demands,
                                         const std::string& job) {
  return std::find_if(demands.begin(), demands.end(),
                      [&job](const Demand& demand) { return demand.job == job; });
}

}  // namespace

void Queue::add(Demand demand) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  waiting_.push_back(std::move(demand));
}

void Queue::take_up(Demand demand) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  running_.push_back(std::move(demand));
}

std::vector<std::string> Queue::start() {
  std::vector<std::string> names = startable(capacity_, running_, waiting_);
  for (const std::string& name : names) {
    const auto found = find(waiting_, name);
    running_.push_back(*found);
    waiting_.erase(found);
  }
  return names;
}

bool Queue::withdraw(const std::string& job) {
  const auto found = find(waiting_, job);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

void Queue::end(const std::string& job) {
  const auto found = find(running_, job);
  CHECK_THAT(found != running_.end(), "only what runs can end");
  running_.erase(found);
}

std::string Queue::why_waiting(const std::string& job) const {
  return jobs::why_waiting(capacity_, running_, waiting_, job);
}

bool Queue::runs(const std::string& job) const {
  return find(running_, job) != running_.end();
}

bool Queue::waits(const std::string& job) const {
  return find(waiting_, job) != waiting_.end();
}

}  // namespace muster::jobs
