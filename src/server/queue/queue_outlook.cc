#include <algorithm>
#include <cmath>

#include "base/dates.h"
#include "server/queue/queue.h"
#include "server/queue/queue_merge.h"

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

const Reservation* reservation_of(const Outlook& outlook, const std::string& job) {
  const auto found =
      std::find_if(outlook.plan.reservations.begin(), outlook.plan.reservations.end(),
                   [&job](const Reservation& each) { return each.job == job; });
  return found == outlook.plan.reservations.end() ? nullptr : &*found;
}

bool share_a_resource(const Amounts& capacity, const Amounts& a, const Amounts& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& need) {
    const auto other = b.find(need.first);
    return need.second > 0 && capacity.contains(need.first) && other != b.end() &&
           other->second > 0;
  });
}

/// Why `ahead` comes before `own`; empty if it is only that it came first.
std::string why_behind(const Outlook& outlook, const Place& own, const Place& ahead) {
  const std::string& key = own.job->demand.key;
  const std::string& key_ahead = ahead.job->demand.key;
  if (ahead.level == level_first) return ", which has waited longest";
  if (ahead.level > own.level && ahead.job->demand.priority > own.job->demand.priority)
    return ", which has a higher priority";
  if (ahead.level > own.level) return ", whose priority rose while it waited";
  if (key_ahead == key || ahead.level < own.level) return {};
  const double share = score_of(outlook.scores, key);
  const double share_ahead = score_of(outlook.scores, key_ahead);
  if (share <= share_ahead) return {};
  const std::string theirs = percent(share_ahead);
  const std::string ours = percent(share);
  if (theirs == ours) return ", whose key has used less";
  return ", whose key uses " + theirs + " of the machine, while this job's key uses " + ours;
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

Queue::Own Queue::own_place(const Waiting& job, UnixMillis now) const {
  const std::vector<Place>& places = orders_.at(job.demand.key).places(now, rules_);
  const auto own = std::find_if(places.begin(), places.end(),
                                [&job](const Place& each) { return each.job == &job; });
  return {&*own, static_cast<std::size_t>(own - places.begin())};
}

std::optional<std::size_t> Queue::place(const std::string& job, UnixMillis now) const {
  const auto found = waiting_.find(job);
  if (found == waiting_.end()) return std::nullopt;
  const std::string& own_key = found->second.demand.key;
  const Outlook& known = outlook(now);
  const Own own = own_place(found->second, known.now);
  const auto rank = own.place->rank(score_of(known.scores, own_key));
  std::size_t ahead = own.index;
  for (const auto& [key, order] : orders_) {
    if (key == own_key) continue;
    const std::vector<Place>& places = order.places(known.now, rules_);
    const auto behind =
        std::partition_point(places.begin(), places.end(),
                             [&rank, score = score_of(known.scores, key)](const Place& each) {
                               return each.rank(score) < rank;
                             });
    ahead += static_cast<std::size_t>(behind - places.begin());
  }
  return ahead + 1;
}

std::vector<Place> Queue::in_order(UnixMillis now, std::size_t most) const {
  const Outlook& known = outlook(now);
  Merge merge(orders_, known.scores, known.now, rules_, [](const Place&) { return true; });
  std::vector<Place> places;
  while (places.size() < most) {
    const Place* const next = merge.next();
    if (next == nullptr) break;
    places.push_back(*next);
  }
  return places;
}

/// The first in the order that needs something that `job` needs, too; none if that is itself.
const Place* Queue::first_ahead(const Waiting& job, const Own& own, const Outlook& known) const {
  std::vector<bool> shares;
  for (const Kind& kind : kinds_)
    shares.push_back(share_a_resource(capacity_, job.demand.needs, kind.needs));
  const std::vector<Place>& mine = orders_.at(job.demand.key).places(known.now, rules_);
  const auto wanted = [&shares, &mine, &own](const Place& each) {
    const bool is_behind = &each >= own.place && &each < mine.data() + mine.size();
    return shares[each.kind] && !is_behind;
  };
  Merge merge(orders_, known.scores, known.now, rules_, wanted);
  const Place* const first = merge.next();
  if (first == nullptr) return nullptr;
  const auto rank = [&known](const Place& each) {
    return each.rank(score_of(known.scores, each.job->demand.key));
  };
  const bool is_own_key = first->job->demand.key == job.demand.key;
  return is_own_key || rank(*first) < rank(*own.place) ? first : nullptr;
}

std::string Queue::why_waiting(const std::string& job, UnixMillis now) const {
  const auto found = waiting_.find(job);
  if (found == waiting_.end()) return {};
  const Demand& demand = found->second.demand;
  const Outlook& known = outlook(now);
  std::string text =
      "place " + std::to_string(*place(job, now)) + " of " + std::to_string(waiting_.size());
  if (const std::vector<std::string> never = beyond(capacity_, demand.needs, notes_);
      !never.empty())
    return text + (notes_.empty() ? "; can never start: " : "; cannot start: ") + never.front();
  const Own own = own_place(found->second, known.now);
  const Reservation* const reserved = reservation_of(known, job);
  const Place* const ahead = reserved == nullptr ? first_ahead(found->second, own, known) : nullptr;
  if (ahead != nullptr)
    text += ", behind " + ahead->job->demand.job + why_behind(known, *own.place, *ahead);
  const std::vector<std::string> missing = lacks(capacity_, held_, demand.needs, notes_);
  for (const std::string& each : missing) text += "; " + each;
  if (reserved != nullptr && !reserved->after.empty())
    text += "; starts when " + reserved->after + " ends, by " + time_text(reserved->at, known.now) +
            " at the latest";
  return missing.empty() ? text + advice(known, demand) : text;
}

}  // namespace muster::jobs
