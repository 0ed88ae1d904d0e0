#include "server/cloudwatch/logs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "aws/api/job_request.h"
#include "base/text.h"
#include "server/cloudwatch/logs_group.h"

namespace muster::cloudwatch {
namespace {

constexpr std::size_t kept_max = 512;
/// CloudWatch's own limits of a page.
constexpr std::size_t page_events_max = 10000;
constexpr std::size_t page_bytes_max = 1u << 20;
constexpr std::size_t token_digits = 56;

std::string token_of(char direction, std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string{direction, '/'} + std::string(token_digits - digits.size(), '0') + digits;
}

/// The direction and the number of a token.
std::optional<std::pair<char, std::uint64_t>> read_token(const std::string& token) {
  if (token.size() != token_digits + 2 || (token[0] != 'f' && token[0] != 'b') || token[1] != '/')
    return std::nullopt;
  const std::optional<std::int64_t> number = parse_integer(std::string_view(token).substr(2));
  if (!number || *number < 0) return std::nullopt;
  return std::pair(token[0], static_cast<std::uint64_t>(*number));
}

/// The last events before number `end` and from `begin` on: at most `events_max`, and no more than
/// page_bytes_max and one.
Result<std::vector<LogEvent>> read_back(LogStream& stream, std::uint64_t begin, std::uint64_t end,
                                        std::size_t events_max) {
  std::vector<LogEvent> events;
  std::uint64_t at = end - std::min<std::uint64_t>(end - begin, events_max);
  while (at < end) {
    std::vector<LogEvent> more = TRY(stream.read(at, end - at, page_bytes_max));
    if (more.empty()) break;
    at += more.size();
    std::move(more.begin(), more.end(), std::back_inserter(events));
    std::size_t bytes = 0;
    std::size_t kept = 0;
    while (kept < events.size() && bytes < page_bytes_max)
      bytes += events[events.size() - ++kept].message.size();
    events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(kept));
  }
  return events;
}

}  // namespace

Logs::Logs(store::Store& store, api::Realm realm, const server::JournalFiles& journals)
    : store_(store), realm_(std::move(realm)), journals_(journals) {}

api::Answer Logs::operate(const std::string& operation, const Json& input) {
  if (operation == "DescribeLogGroups") return describe_groups(input);
  if (operation != "DescribeLogStreams" && operation != "GetLogEvents" &&
      operation != "FilterLogEvents")
    return aws::Refusal{"UnknownOperationException", "muster does not support logs:" + operation};
  if (group_of(input) != log_group)
    return aws::Refusal{"ResourceNotFoundException", "The specified log group does not exist."};
  if (operation == "DescribeLogStreams") return describe_streams(input);
  return operation == "GetLogEvents" ? get_events(input) : filter_events(input);
}

Result<LogStream*> Logs::stream(const std::string& job, const std::string& host, bool ended) {
  const std::string key = job + "/" + host;
  auto found = streams_.find(key);
  if (found == streams_.end()) {
    if (streams_.size() >= kept_max)
      streams_.erase(std::min_element(
          streams_.begin(), streams_.end(),
          [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    found = streams_.emplace(key, Kept{LogStream(host, {}), 0}).first;
  }
  found->second.stream.moved_to(journals_.file(job, host));
  found->second.used = ++uses_;
  TRY(found->second.stream.catch_up(ended));
  return &found->second.stream;
}

void Logs::forget(const std::string& job) {
  const std::string prefix = job + "/";
  std::erase_if(streams_, [&](const auto& each) { return each.first.starts_with(prefix); });
}

std::vector<Logs::Named> Logs::streams_of(const store::Job& job) {
  std::vector<Named> streams;
  const Result<api::JobRequest> request = api::job_request_from(job.request);
  if (!job.state.streams || !request) return streams;
  int number = 0;
  for (const std::string& host : request->hosts())
    streams.push_back({stream_name(job.name, host, *job.state.streams), job.name, host, job.number,
                       ++number, *job.state.streams, store::is_terminal(job.state.status)});
  std::sort(streams.begin(), streams.end(),
            [](const Named& a, const Named& b) { return a.name < b.name; });
  return streams;
}

Result<Logs::Named, aws::Refusal> Logs::find(const std::string& name) {
  const Result<std::optional<store::Job>> job = store_.job(name.substr(0, name.find('/')));
  if (!job) return api::internal_failure(job.error());
  if (*job)
    for (Named& each : streams_of(**job))
      if (each.name == name) return std::move(each);
  return aws::Refusal{"ResourceNotFoundException", "The specified log stream does not exist."};
}

api::Answer Logs::describe_groups(const Json& input) const {
  const std::string prefix = api::text_of(input, "logGroupNamePrefix");
  const std::string pattern = api::text_of(input, "logGroupNamePattern");
  const std::string name(log_group);
  Json groups = Json::array();
  if (name.starts_with(prefix) && name.find(pattern) != std::string::npos)
    groups.push_back({{"logGroupName", name},
                      {"creationTime", 0},
                      {"metricFilterCount", 0},
                      {"arn", group_arn(realm_) + ":*"},
                      {"logGroupArn", group_arn(realm_)},
                      {"storedBytes", 0}});
  return Json{{"logGroups", groups}};
}

api::Answer Logs::get_events(const Json& input) {
  const std::string name = stream_of(input);
  const Named which = TRY(find(name));
  const Result<LogStream*> stream = this->stream(which.job, which.host, which.ended);
  if (!stream) return api::internal_failure(stream.error());

  const std::optional<std::int64_t> start = api::integer_of(input, "startTime");
  const std::optional<std::int64_t> end = api::integer_of(input, "endTime");
  const Result<std::uint64_t> low =
      start ? (*stream)->first_at(UnixMillis(*start)) : Result<std::uint64_t>(0);
  const Result<std::uint64_t> high =
      end ? (*stream)->first_at(UnixMillis(*end)) : Result<std::uint64_t>((*stream)->count());
  if (!low || !high) return api::internal_failure(!low ? low.error() : high.error());
  const std::string token = api::text_of(input, "nextToken");
  const auto place = read_token(token);
  if (!token.empty() && !place)
    return aws::Refusal{"InvalidParameterException", "The specified nextToken is invalid."};
  const bool forward = place ? place->first == 'f' : api::flag_of(input, "startFromHead");
  const std::size_t limit = static_cast<std::size_t>(std::clamp<std::int64_t>(
      api::integer_of(input, "limit").value_or(page_events_max), 1, std::int64_t{page_events_max}));

  const std::uint64_t top = std::max(*low, *high);
  std::uint64_t first = place && forward ? std::max(place->second, *low) : *low;
  const std::uint64_t last = place && !forward ? std::clamp(place->second, *low, top) : top;
  Result<std::vector<LogEvent>> events = std::vector<LogEvent>();
  if (forward && first < last)
    events = (*stream)->read(first, std::min<std::uint64_t>(limit, last - first), page_bytes_max);
  if (!forward) events = read_back(**stream, *low, last, limit);
  if (!events) return api::internal_failure(events.error());
  if (!forward) first = last - events->size();

  Json list = Json::array();
  for (LogEvent& event : *events)
    list.push_back({{"timestamp", event.time.count()},
                    {"message", std::move(event.message)},
                    {"ingestionTime", event.time.count()}});
  Json answer{{"events", std::move(list)},
              {"nextForwardToken", token_of('f', first + events->size())},
              {"nextBackwardToken", token_of('b', first)}};
  // At an end a token stays what it is: that is how clients know.
  if (events->empty() && place) answer[forward ? "nextForwardToken" : "nextBackwardToken"] = token;
  return answer;
}

std::string stream_name(const std::string& job, const std::string& host, UnixMillis since) {
  return job + "/" + host + "-" + std::to_string(since.count());
}

}  // namespace muster::cloudwatch
