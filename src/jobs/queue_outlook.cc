#include "jobs/queue_outlook.h"

#include <algorithm>
#include <cmath>

#include "base/dates.h"

namespace muster::jobs {
namespace {

/// "14:05 UTC"; with its date if it is not today. Rounded up: it is a latest time.
std::string time_text(UnixMillis time, UnixMillis now) {
  const std::string text =
      utc_text(std::chrono::ceil<std::chrono::minutes>(time)).substr(0, 16);  // Without seconds.
  const std::string today = utc_text(now).substr(0, 10);
  return (text.starts_with(today) ? text.substr(11) : text) + " UTC";
}

std::string percent(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

double score_of(const Outlook& outlook, const std::string& key) {
  const auto found = outlook.scores.find(key);
  return found == outlook.scores.end() ? 0 : found->second;
}

const Reservation* reservation_of(const Outlook& outlook, const std::string& job) {
  const auto found =
      std::find_if(outlook.plan.reservations.begin(), outlook.plan.reservations.end(),
                   [&job](const Reservation& each) { return each.job == job; });
  return found == outlook.plan.reservations.end() ? nullptr : &*found;
}

bool share_a_resource(const Standing& standing, const Demand& a, const Demand& b) {
  return std::any_of(a.needs.begin(), a.needs.end(), [&](const auto& need) {
    const auto other = b.needs.find(need.first);
    return need.second > 0 && standing.capacity.contains(need.first) && other != b.needs.end() &&
           other->second > 0;
  });
}

/// Why `ahead` comes before `own`; empty if it is only that it came first.
std::string why_behind(const Outlook& outlook, const Demand& own, int level, const Demand& ahead,
                       int level_ahead) {
  if (level_ahead == level_first) return ", which has waited longest";
  if (level_ahead > level && ahead.priority > own.priority) return " of higher priority";
  if (level_ahead > level) return ", which rose by waiting";
  if (ahead.key == own.key || level_ahead < level) return {};
  const std::string theirs = percent(score_of(outlook, ahead.key));
  const std::string ours = percent(score_of(outlook, own.key));
  if (score_of(outlook, own.key) <= score_of(outlook, ahead.key)) return {};
  if (theirs == ours) return ", whose key has used less";
  return ", whose key uses " + theirs + " of the machine, its own " + ours;
}

/// What a job that fits now could do to start at once.
std::string advice(const Outlook& outlook, const Demand& own) {
  UnixMillis most = UnixMillis::max();
  for (const Reservation& each : outlook.plan.reservations)
    if (!leaves(each, own, outlook.now)) most = std::min(most, each.at - outlook.now);
  if (most == UnixMillis::max()) return {};
  const std::int64_t over = std::chrono::ceil<std::chrono::seconds>(own.length - most).count();
  const std::int64_t margin = std::chrono::seconds(60).count();  // Till it is submitted again.
  const std::int64_t asked = own.run_time.count() / 1000;
  if (asked <= over + margin) return {};
  return "; with MaxRuntimeInSeconds up to " + std::to_string(asked - over - margin) +
         " it could start now";
}

}  // namespace

Outlook outlook(const Standing& standing, const QueueRules& rules, UnixMillis now) {
  Outlook outlook{
      .now = now, .order = order(standing, rules, now), .plan = {}, .scores = {}, .places = {}};
  std::vector<Demand> waiting;
  waiting.reserve(outlook.order.size());
  for (const Place& each : outlook.order) {
    outlook.places.emplace(standing.waiting[each.index].job, waiting.size());
    waiting.push_back(standing.waiting[each.index]);
  }
  outlook.plan = plan(standing.capacity, standing.running, waiting, now);
  outlook.scores = scores(standing, rules, now);
  return outlook;
}

std::string why_waiting(const Standing& standing, const Outlook& outlook, const std::string& job) {
  const auto place = outlook.places.find(job);
  if (place == outlook.places.end()) return {};
  const auto demand_at = [&](std::size_t at) -> const Demand& {
    return standing.waiting[outlook.order[at].index];
  };
  const Demand& own = demand_at(place->second);
  std::string text =
      "place " + std::to_string(place->second + 1) + " of " + std::to_string(outlook.order.size());
  if (const std::vector<std::string> never = beyond(standing.capacity, own.needs); !never.empty())
    return text + "; can never start: " + never.front();
  const Reservation* reserved = reservation_of(outlook, job);
  std::size_t ahead = place->second;
  for (std::size_t at = 0; at < place->second && ahead == place->second; ++at)
    if (share_a_resource(standing, own, demand_at(at))) ahead = at;
  if (ahead < place->second && reserved == nullptr)
    text += ", behind " + demand_at(ahead).job +
            why_behind(outlook, own, outlook.order[place->second].level, demand_at(ahead),
                       outlook.order[ahead].level);
  const std::vector<std::string> missing =
      lacks(standing.capacity, held_by(standing.running), own.needs);
  for (const std::string& each : missing) text += "; " + each;
  if (reserved != nullptr && !reserved->after.empty())
    text += "; starts when " + reserved->after + " ends, by " +
            time_text(reserved->at, outlook.now) + " at the latest";
  return missing.empty() ? text + advice(outlook, own) : text;
}

}  // namespace muster::jobs
