#include "job/wire/timeline.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "job/outcome/lines.h"

namespace muster::job {
namespace {

struct PointText {
  std::string_view name;
  std::string_view phase;
};
constexpr std::array<PointText, point_count> texts = {{
    {"launched", "queued"},
    {"root", "root file system"},
    {"inputs", "inputs"},
    {"begun", "container"},
    {"joined", "roll call"},
    {"gathered", "other hosts"},
    {"checked", "preflight"},
    {"code", "code"},
    {"packages", "pip"},
    {"worked", "plan"},
    {"rank", "launcher"},
    {"first_line", "first line"},
    {"first_metric", "first metric"},
    {"last_line", "running"},
    {"ended", "last line to end"},
    {"stored", "results"},
}};

constexpr std::size_t hosts_max = 10'000;

Point point_of(Mark mark) {
  return static_cast<Point>(static_cast<int>(Point::root) + static_cast<int>(mark));
}
static_assert(static_cast<int>(Point::rank) - static_cast<int>(Point::root) ==
              static_cast<int>(Mark::rank));

Error invalid_timeline(const std::string& what) {
  return fail(Errc::protocol, "invalid timeline: " + what);
}

/// The whole number of a member; `otherwise` where there is none.
Result<std::int64_t> number_at(const Json& json, const char* name, std::int64_t otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) return otherwise;
  if (!found->is_number_integer())
    return invalid_timeline(std::string(name) + ": expected a whole number");
  return found->get<std::int64_t>();
}

Result<HostTimeline> host_from(const Json& json) {
  if (!json.is_object() || !json.contains("host") || !json["host"].is_string())
    return invalid_timeline("missing host name");
  HostTimeline host;
  host.host = json["host"].get<std::string>();
  host.attempt = static_cast<int>(TRY(number_at(json, "attempt", 1)));
  host.input_bytes = TRY(number_at(json, "input_bytes", -1));
  if (!json.contains("points") || !json["points"].is_array())
    return invalid_timeline("missing points for host " + host.host);
  for (const Json& each : json["points"]) {
    if (!each.is_object() || !each.contains("point") || !each["point"].is_string() ||
        !each.contains("ms") || !each["ms"].is_number_integer())
      return invalid_timeline("expected an object {point, ms} for each point");
    const std::string& name = each["point"].get_ref<const std::string&>();
    for (std::size_t i = 0; i < point_count; ++i)
      if (texts[i].name == name) host.at[i] = UnixMillis(each["ms"].get<std::int64_t>());
  }
  return host;
}

}  // namespace

std::string_view point_name(Point point) {
  return texts[static_cast<std::size_t>(point)].name;
}

std::string_view phase_before(Point point) {
  return texts[static_cast<std::size_t>(point)].phase;
}

void TimelineReader::set(Point point, UnixMillis time) {
  std::optional<UnixMillis>& at = timeline_.when(point);
  if (!at) at = time;
}

void TimelineReader::set_last(Point point, UnixMillis time) {
  timeline_.when(point) = time;
}

void TimelineReader::take(const Record& record) {
  switch (record.kind) {
    case Message::phase:
      return take_phase(record);
    case Message::lines:
      return take_lines(record);
    case Message::mark: {
      const Result<Moment> moment = moment_from(record.payload);
      if (!moment) return;
      set(point_of(moment->mark), record.time);
      if (moment->mark == Mark::inputs) timeline_.input_bytes = moment->bytes;
      if (moment->mark == Mark::begun && alone_) {  // What was said until now was no program's.
        timeline_.when(Point::first_line).reset();
        timeline_.when(Point::last_line).reset();
      }
      if (moment->mark == Mark::begun) alone_ = false;
      return;
    }
    default:
      return;
  }
}

void TimelineReader::take_phase(const Record& record) {
  const Result<PhaseChange> change = phase_from(record.payload);
  if (!change) return;
  if (change->phase == Phase::starting) {
    const bool again = timeline_.when(Point::launched).has_value();
    HostTimeline fresh;
    fresh.host = timeline_.host;
    fresh.attempt = timeline_.attempt + (again ? 1 : 0);
    timeline_ = std::move(fresh);
    alone_ = true;
    return set(Point::launched, record.time);
  }
  if (change->phase == Phase::uploading) return set(Point::ended, record.time);
  if (is_end(change->phase)) set_last(Point::stored, record.time);
}

void TimelineReader::take_lines(const Record& record) {
  if (rank_of_lines(record.payload) < 0 && !alone_) return;  // Lines come by the million.
  set(Point::first_line, record.time);
  set_last(Point::last_line, record.time);
}

std::vector<Stretch> stretches(const HostTimeline& host, UnixMillis submitted) {
  std::vector<Stretch> result;
  UnixMillis begin = submitted;
  for (std::size_t i = 0; i < point_count; ++i) {
    if (!host.at[i]) continue;
    const UnixMillis end = std::max(begin, *host.at[i]);
    result.push_back({static_cast<Point>(i), begin, end});
    begin = end;
  }
  return result;
}

Json to_json(const JobTimeline& timeline) {
  Json hosts = Json::array();
  for (const HostTimeline& host : timeline.hosts) {
    Json points = Json::array();
    for (std::size_t i = 0; i < point_count; ++i)
      if (host.at[i])
        points.push_back(Json{{"point", std::string(texts[i].name)}, {"ms", host.at[i]->count()}});
    Json each{{"host", host.host}, {"attempt", host.attempt}, {"points", std::move(points)}};
    if (host.input_bytes >= 0) each["input_bytes"] = host.input_bytes;
    hosts.push_back(std::move(each));
  }
  return Json{{"job", timeline.job},
              {"submitted_ms", timeline.submitted.count()},
              {"hosts", std::move(hosts)}};
}

Result<JobTimeline> job_timeline_from(const Json& json) {
  if (!json.is_object() || !json.contains("submitted_ms") ||
      !json["submitted_ms"].is_number_integer() || !json.contains("hosts") ||
      !json["hosts"].is_array() || json["hosts"].size() > hosts_max)
    return invalid_timeline("expected an object {job, submitted_ms, hosts}");
  JobTimeline timeline;
  if (json.contains("job") && json["job"].is_string()) timeline.job = json["job"];
  timeline.submitted = UnixMillis(json["submitted_ms"].get<std::int64_t>());
  for (const Json& each : json["hosts"]) timeline.hosts.push_back(TRY(host_from(each)));
  return timeline;
}

}  // namespace muster::job
