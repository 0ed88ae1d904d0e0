// FilterLogEvents: the events of several streams as one, by time.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "platform/journals/log_merge.h"
#include "server/cloudwatch/filter_pattern.h"
#include "server/cloudwatch/logs.h"
#include "server/cloudwatch/logs_group.h"

namespace muster::cloudwatch {
namespace {

constexpr std::size_t streams_max = 500;  // Fewer than Logs keeps.
/// What is read ahead of all streams together, and (chunk_bytes_min) of one at least.
constexpr std::size_t ahead_bytes = 4u << 20;
constexpr std::size_t chunk_bytes_min = 16u << 10;
constexpr std::size_t chunk_events_max = 10000;
/// A page may come without events, with a token: so a pattern that nothing matches does not hold
/// the server.
constexpr std::size_t looked_bytes_max = 8u << 20;
constexpr std::size_t page_bytes_max = 1u << 20;

aws::Refusal too_many_streams() {
  return {
      "InvalidParameterException",
      "More than " + std::to_string(streams_max) +
          " log streams match: specify logStreamNames, logStreamNamePrefix or a later startTime"};
}

/// Stable and unique for ever: a job's number is never given again.
std::string event_id(std::int64_t job, int host, std::uint64_t number) {
  const auto padded = [](std::uint64_t value, std::size_t width) {
    const std::string digits = std::to_string(value);
    return std::string(width - std::min(width, digits.size()), '0') + digits;
  };
  return padded(static_cast<std::uint64_t>(job), 16) +
         padded(static_cast<std::uint64_t>(host), 16) + padded(number, 24);
}

}  // namespace

/// Where reading stands in one stream.
struct Logs::Cursor {
  Named named;
  LogStream* stream = nullptr;
  std::uint64_t next = 0;  ///< Number of the event to give next.
  std::uint64_t end = 0;
  std::uint64_t read_to = next;  ///< Number of the event to read next.
};

struct Logs::Page {
  LogFilter filter;
  std::size_t limit;
  Json events;
  std::size_t bytes = 0;
  std::size_t looked = 0;
  bool is_full() const {
    return events.size() >= limit || bytes >= page_bytes_max || looked >= looked_bytes_max;
  }
};

/// The names of the jobs whose streams may begin with `prefix` and have events from `start` on.
Result<std::vector<std::string>, aws::Refusal> Logs::jobs_with(const std::string& prefix,
                                                               std::optional<std::int64_t> start) {
  const std::size_t slash = prefix.find('/');
  if (slash != std::string::npos) return std::vector<std::string>{prefix.substr(0, slash)};
  // A job that was over before has no event after it.
  store::JobQuery query{
      .sort_by = prefix.empty() && start ? store::SortBy::modified : store::SortBy::name,
      .name_prefix = prefix,
      .modified_after = start ? std::optional(UnixMillis(*start - 1)) : std::nullopt,
      .has_streams = true,
      .limit = streams_max + 1};
  const Result<store::JobPage> page = store_.page(query);
  if (!page) return api::internal_failure(page.error());
  if (page->next) return too_many_streams();
  std::vector<std::string> names;
  for (const store::JobSummary& each : page->jobs) names.push_back(each.name);
  return names;
}

Result<std::vector<Logs::Named>, aws::Refusal> Logs::chosen(const Json& input) {
  std::vector<Named> streams;
  for (const std::string& name : api::texts_of(input, "logStreamNames")) {
    streams.push_back(TRY(find(name)));
  }
  if (!streams.empty()) return streams;
  const std::string prefix = api::text_of(input, "logStreamNamePrefix");
  const std::optional<std::int64_t> start = api::integer_of(input, "startTime");
  const std::vector<std::string> jobs = TRY(jobs_with(prefix, start));
  for (const std::string& name : jobs) {
    const Result<std::optional<store::Job>> job = store_.job(name);
    if (!job) return api::internal_failure(job.error());
    if (!*job) continue;
    for (Named& stream : streams_of(**job))
      if (stream.name.starts_with(prefix)) streams.push_back(std::move(stream));
  }
  if (streams.size() <= streams_max) return streams;
  return too_many_streams();
}

Result<void> Logs::merge(std::vector<Cursor>& cursors, Page& page) {
  const std::size_t chunk_bytes =
      std::max(ahead_bytes / std::max<std::size_t>(cursors.size(), 1), chunk_bytes_min);
  platform::LogMerge<LogEvent> merge(cursors.size());
  while (!page.is_full()) {
    while (const std::optional<std::size_t> wanting = merge.wanting()) {
      Cursor& cursor = cursors[*wanting];
      std::vector<LogEvent> chunk;
      if (cursor.read_to < cursor.end)
        chunk = TRY(cursor.stream->read(
            cursor.read_to, std::min<std::uint64_t>(chunk_events_max, cursor.end - cursor.read_to),
            chunk_bytes));
      cursor.read_to += chunk.size();
      if (chunk.empty()) merge.dry(*wanting);
      if (chunk.empty()) cursor.end = cursor.read_to;
      for (LogEvent& event : chunk) merge.add(*wanting, std::move(event));
    }
    std::optional<platform::LogMerge<LogEvent>::Next> taken = merge.next();
    if (!taken) return {};
    LogEvent& event = taken->entry;
    Cursor& from = cursors[taken->source];
    const std::uint64_t number = from.next++;
    page.looked += (event.message.size() + 1) * page.filter.cost();
    if (!page.filter.matches(event.message)) continue;
    page.bytes += event.message.size();
    page.events.push_back(
        {{"eventId", event_id(from.named.job_number, from.named.host_number, number)},
         {"logStreamName", from.named.name},
         {"timestamp", event.time.count()},
         {"ingestionTime", event.time.count()},
         {"message", std::move(event.message)}});
  }
  return {};
}

api::Answer Logs::filter_events(const Json& input) {
  std::vector<Named> named = TRY(chosen(input));
  const Result<LogFilter> filter = LogFilter::from(api::text_of(input, "filterPattern"));
  if (!filter) return aws::Refusal{"InvalidParameterException", filter.error().text};
  const std::string token = api::text_of(input, "nextToken");
  const std::optional<Json> places = api::place_of(token);
  if (!token.empty() && (!places || !places->is_object()))
    return aws::Refusal{"InvalidParameterException", "The specified nextToken is invalid."};

  const std::optional<std::int64_t> start = api::integer_of(input, "startTime");
  const std::optional<std::int64_t> end = api::integer_of(input, "endTime");
  std::vector<Cursor> cursors;
  for (Named& each : named) {
    const Result<LogStream*> stream = this->stream(each.job, each.host, each.ended);
    if (!stream) return api::internal_failure(stream.error());
    Result<std::uint64_t> from = std::uint64_t{0};
    Result<std::uint64_t> to = (*stream)->count();
    if (start) from = (*stream)->first_at(UnixMillis(*start));
    if (end) to = (*stream)->first_at(UnixMillis(*end));
    if (!from || !to) return api::internal_failure(!from ? from.error() : to.error());
    if (const auto place = places ? api::integer_of(*places, each.name.c_str()) : std::nullopt)
      from = std::max(*from, static_cast<std::uint64_t>(std::max<std::int64_t>(*place, 0)));
    cursors.push_back({std::move(each), *stream, *from, *to});
  }
  Page page{*filter, 10000, Json::array()};
  if (const auto limit = api::integer_of(input, "limit"))
    page.limit = static_cast<std::size_t>(std::clamp<std::int64_t>(*limit, 1, 10000));
  const Result<void> merged = merge(cursors, page);
  if (!merged) return api::internal_failure(merged.error());

  Json answer{{"events", std::move(page.events)}, {"searchedLogStreams", Json::array()}};
  Json next = Json::object();
  bool is_more = false;
  for (const Cursor& each : cursors) {
    next[each.named.name] = each.next;
    is_more = is_more || each.next < each.end;
  }
  if (is_more) answer["nextToken"] = api::page_token(next);
  return answer;
}

}  // namespace muster::cloudwatch
