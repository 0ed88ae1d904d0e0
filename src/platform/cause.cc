#include "platform/cause.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/topic.h"
#include "job/outcome/shown_words.h"

namespace muster::platform {
namespace {

/// A host's activity after it has reached a point.
std::string doing_after(job::Point point) {
  using job::Point;
  switch (point) {
    case Point::launched:
      return "preparing its file system";
    case Point::root:
      return "fetching its inputs";
    case Point::inputs:
      return "starting its container";
    case Point::begun:
      return "joining the other hosts";
    case Point::joined:
      return "waiting for the other hosts";
    case Point::gathered:
      return "comparing the hosts";
    case Point::checked:
      return "fetching the code";
    case Point::code:
      return "preparing the program";
    case Point::packages:
      return "preparing the program";
    case Point::worked:
      return "launching";
    case Point::rank:
      return "running, before its first line";
    case Point::first_line:
    case Point::first_metric:
    case Point::last_line:
      return "running";
    case Point::ended:
    case Point::stored:
      return "storing its results";
  }
  return {};
}

/// The last point that the host had reached by `time`. A line counts as reached by its writer,
/// although the writer's end may be recorded before its last line.
std::string doing_at(const job::HostTimeline& host, UnixMillis time) {
  std::string doing;
  for (std::size_t i = 0; i < job::point_count; ++i)
    if (host.at[i] && *host.at[i] <= time) doing = doing_after(static_cast<job::Point>(i));
  return doing;
}

}  // namespace

void CauseReader::take(const std::string& host, const job::Record& record) {
  timelines_.try_emplace(host, host).first->second.take(record);
  const bool ended = record.kind == job::Message::outcome;
  if (!ended || ends_.size() >= ends_max) return;
  const Result<Json> json = parse_json(record.payload);
  const Result<job::Verdict> verdict = json ? job::verdict_from(*json) : json.error();
  if (!verdict || verdict->success()) return;
  ends_.push_back({host, verdict->process, verdict->rank, record.time});
}

Cause CauseReader::cause_of(const job::Verdict& verdict) const {
  Cause cause;
  cause.verdict = verdict;
  const auto first = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) {
    return end.host == verdict.host && end.process == verdict.process;
  });
  if (first == ends_.end()) return cause;
  cause.time = first->time;
  for (const End& end : ends_) {
    if (end.rank < 0 || end.time < cause.time || &end == &*first) continue;
    ++cause.victims;
    cause.within = std::max(cause.within, end.time - cause.time);
  }
  const auto timeline = timelines_.find(verdict.host);
  if (timeline == timelines_.end()) return cause;
  const job::HostTimeline& host = timeline->second.timeline();
  cause.doing = doing_at(host, cause.time);
  const std::optional<UnixMillis>& begun = host.when(job::Point::launched);
  if (begun) cause.after = std::max(UnixMillis(0), cause.time - *begun);
  return cause;
}

std::vector<job::HostTimeline> CauseReader::timelines() const {
  std::vector<job::HostTimeline> all;
  for (const auto& [host, reader] : timelines_) all.push_back(reader.timeline());
  return all;
}

Json to_json(const Cause& cause) {
  const job::Verdict& verdict = cause.verdict;
  Json json = Json::object();
  const auto put = [&](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = to_utf8(text);
  };
  put("what", job::describe(verdict));
  put("host", verdict.host);
  put("process", verdict.process);
  if (verdict.rank >= 0) json["rank"] = verdict.rank;
  json["outcome"] = job::to_json(verdict.outcome);
  if (verdict.out_of_memory) json["out_of_memory"] = true;
  if (cause.time.count() > 0) {
    json["time_ms"] = cause.time.count();
    json["after_ms"] = cause.after.count();
    json["victims"] = cause.victims;
    if (cause.victims > 0) json["within_ms"] = cause.within.count();
  }
  put("doing", cause.doing);
  put("last_lines", job::excerpt(verdict));
  put("command", verdict.command);
  put("advice", job::hint_for(verdict.last_lines));
  put("topic", std::string(topic_name(job::describe(verdict))));
  return json;
}

}  // namespace muster::platform
