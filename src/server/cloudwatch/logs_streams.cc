// DescribeLogStreams: the streams that there are.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "server/cloudwatch/logs.h"
#include "server/cloudwatch/logs_group.h"

namespace muster::cloudwatch {

std::string group_arn(const api::Realm& realm) {
  return "arn:aws:logs:" + realm.region + ":" + realm.account +
         ":log-group:" + std::string(log_group);
}

std::string group_of(const Json& input) {
  std::string name = api::text_of(input, "logGroupName");
  if (!name.empty()) return name;
  std::string identifier = api::text_of(input, "logGroupIdentifier");
  constexpr std::string_view kind = ":log-group:";
  const std::size_t found = identifier.find(kind);
  if (found != std::string::npos) identifier.erase(0, found + kind.size());
  if (identifier.ends_with(":*")) identifier.resize(identifier.size() - 2);
  return identifier;
}

std::string stream_of(const Json& input) {
  return api::text_of(input, "logStreamName");
}

Json Logs::described(const Named& named, bool with_events) {
  Json json{{"logStreamName", named.name},
            {"creationTime", named.since.count()},
            {"arn", group_arn(realm_) + ":log-stream:" + named.name},
            {"storedBytes", 0}};
  if (!with_events) return json;
  const Result<LogStream*> stream = this->stream(named.job, named.host, named.ended);
  if (!stream || (*stream)->count() == 0) return json;
  json["firstEventTimestamp"] = (*stream)->first_time().count();
  json["lastEventTimestamp"] = (*stream)->last_time().count();
  json["lastIngestionTime"] = (*stream)->last_time().count();
  json["storedBytes"] = (*stream)->bytes();
  return json;
}

/// One job's streams come in one answer, whatever `limit` says: the SageMaker SDK 2 asks without
/// the token, forever, if there is one.
api::Answer Logs::describe_streams(const Json& input) {
  const std::string prefix = api::text_of(input, "logStreamNamePrefix");
  const std::size_t slash = prefix.find('/');
  if (slash == std::string::npos) return describe_all_streams(input);
  const Result<std::optional<store::Job>> job = store_.job(prefix.substr(0, slash));
  if (!job) return api::internal_failure(job.error());
  Json list = Json::array();
  if (*job)
    for (const Named& each : streams_of(**job))
      if (each.name.starts_with(prefix)) list.push_back(described(each, true));
  if (api::text_of(input, "orderBy") == "LastEventTime")
    std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
      return api::integer_of(a, "lastEventTimestamp") < api::integer_of(b, "lastEventTimestamp");
    });
  if (api::flag_of(input, "descending")) std::reverse(list.begin(), list.end());
  return Json{{"logStreams", std::move(list)}};
}

/// Streams of many jobs, job by job, in pages that hold whole jobs. Logs are not read for it: that
/// could take minutes. By the time of the last event means by the time of the job's creation. A
/// page looks at a bounded number of jobs, and only at those that have streams.
api::Answer Logs::describe_all_streams(const Json& input) {
  const std::string prefix = api::text_of(input, "logStreamNamePrefix");
  const std::size_t limit = static_cast<std::size_t>(
      std::max<std::int64_t>(api::integer_of(input, "limit").value_or(50), 1));
  const bool by_time = api::text_of(input, "orderBy") == "LastEventTime" && prefix.empty();
  store::JobQuery query{.sort_by = by_time ? store::SortBy::creation_time : store::SortBy::name,
                        .descending = api::flag_of(input, "descending"),
                        .name_prefix = prefix,
                        .has_streams = true,
                        .limit = limit};  // Each of them has a stream at least.
  const std::string token = api::text_of(input, "nextToken");
  if (!token.empty()) {
    const std::optional<Json> place = api::place_of(token);
    if (!place || !place->is_object() || api::text_of(*place, "key").empty())
      return aws::Refusal{"InvalidParameterException", "The specified nextToken is invalid."};
    query.after = {api::text_of(*place, "key"), api::integer_of(*place, "number").value_or(-1)};
  }
  const Result<store::JobPage> page = store_.page(query);
  if (!page) return api::internal_failure(page.error());
  std::optional<store::ListPlace> next = page->next;
  Json answer{{"logStreams", Json::array()}};
  Json& list = answer["logStreams"];
  for (const store::JobSummary& each : page->jobs) {
    const Result<std::optional<store::Job>> job = store_.job(each.name);
    if (!job) return api::internal_failure(job.error());
    for (const Named& stream : streams_of(**job)) list.push_back(described(stream, false));
    if (list.size() < limit) continue;
    if (page->next || each.number != page->jobs.back().number)
      next = {store::sort_key(each, query.sort_by), each.number};
    break;
  }
  if (next) answer["nextToken"] = api::page_token({{"key", next->first}, {"number", next->second}});
  return answer;
}

}  // namespace muster::cloudwatch
