#include "cli/view/job_log.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/fd.h"
#include "base/fields.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/exit_code_of.h"
#include "cli/view/job_view.h"
#include "cli/view/log_entry.h"
#include "cli/view/log_folder.h"
#include "net/loop/wait.h"

namespace muster::cli {
namespace {

constexpr const char* log_group = "/aws/sagemaker/TrainingJobs";
constexpr Duration poll_every = std::chrono::seconds(1);
/// Events of a page at most, and of all pages in memory at one time together.
constexpr std::size_t events_page_max = 10'000;
constexpr std::size_t events_page_min = 100;
constexpr int empty_pages_max = 20;

/// One job's log on its way from the server to the screen.
class JobLog {
 public:
  JobLog(Client& client, std::string job, JobLogOptions options)
      : client_(client),
        job_(std::move(job)),
        options_(std::move(options)),
        tail_(options_.filter.tail),
        statuses_(merge_.add_source()) {}

  loop::Task<Result<int>> run();

 private:
  struct Stream {
    std::string name;
    std::string host;
    std::string token;
    std::size_t source;
    int empty_pages = 0;  ///< In a row.
  };

  loop::Task<Result<void>> round(const Json& job);
  loop::Task<Result<void>> find_streams(const Json& job);
  loop::Task<Result<void>> read_page(Stream& stream);
  void take_statuses(const Json& job);
  loop::Task<Result<void>> flush();
  Result<void> check_host(const Json& job) const;
  void make_render(const Json& job);
  Json first_page_of(const Stream& stream) const;
  void take(LogEntry entry);
  void show(const LogEntry& entry);
  void say_if_nothing() const;
  Result<int> end(const Json& job);

  Client& client_;
  const std::string job_;
  const JobLogOptions options_;
  LogTail tail_;  ///< What the first look shows in the end.
  bool first_look_ = true;
  bool shown_ = false;  ///< Anything.
  LogMerge merge_;
  const std::size_t statuses_;  ///< The source of status lines.
  std::size_t statuses_seen_ = 0;
  std::string last_message_;  ///< The last status seen came with it.
  std::vector<Stream> streams_;
  std::unique_ptr<Render> render_;
  LogFolder* folder_ = nullptr;  ///< Where that is what renders.
  ApiClient::Patience patience_ = ApiClient::Patience::none;
};

Result<void> JobLog::check_host(const Json& job) const {
  const std::string& host = options_.filter.host;
  const int hosts = hosts_of_job(job);
  if (host.empty()) return {};
  for (int number = 1; number <= hosts; ++number)
    if (host == "algo-" + std::to_string(number)) return {};
  return no_such_host(job_, host, hosts);
}

void JobLog::make_render(const Json& job) {
  std::string& out = client_.out.text();
  const int hosts = hosts_of_job(job);
  const int ranks = hosts * processes_per_host_of(job);
  if (!options_.folder.empty()) {
    auto files =
        std::make_unique<LogFolder>(options_.folder, RenderOptions{.hosts = hosts, .ranks = ranks});
    folder_ = files.get();
    render_ = std::move(files);
    return;
  }
  if (options_.json) {
    render_ = std::make_unique<JsonRender>(out);
    return;
  }
  render_ = std::make_unique<PlainRender>(
      out, RenderOptions{.colour = client_.colour,
                         .live = true,
                         .raw = options_.raw,
                         .hosts = hosts,
                         .ranks = ranks,
                         .columns = [&to = client_.out] { return to.columns(); }});
}

loop::Task<Result<void>> JobLog::flush() {
  if (folder_ != nullptr) co_return folder_->flush();
  co_await client_.out.flush();
  co_return Result<void>();
}

void JobLog::take_statuses(const Json& job) {
  const auto changes = job.find("SecondaryStatusTransitions");
  if (changes == job.end() || !changes->is_array()) return;
  // The status that the job is in may have got another message since.
  const bool again = statuses_seen_ > 0 && statuses_seen_ <= changes->size() &&
                     member_text((*changes)[statuses_seen_ - 1], "StatusMessage") != last_message_;
  if (again) --statuses_seen_;
  for (; statuses_seen_ < changes->size(); ++statuses_seen_) {
    const Json& change = (*changes)[statuses_seen_];
    last_message_ = member_text(change, "StatusMessage");
    merge_.add(statuses_, {.kind = LogEntry::Kind::status,
                           .time = member_time(change, "StartTime").value_or(UnixMillis(0)),
                           .name = member_text(change, "Status"),
                           .text = member_text(change, "StatusMessage")});
  }
}

/// Streams appear as hosts start, so they are asked for until there is one for each.
loop::Task<Result<void>> JobLog::find_streams(const Json& job) {
  const int wanted = options_.filter.host.empty() ? hosts_of_job(job) : 1;
  if (streams_.size() >= static_cast<std::size_t>(wanted)) co_return Result<void>();
  std::string token;
  std::set<std::string> known;
  for (const Stream& stream : streams_) known.insert(stream.name);
  do {
    Json input{{"logGroupName", log_group}, {"logStreamNamePrefix", job_ + "/"}};
    if (!token.empty()) input["nextToken"] = token;
    std::string target = "Logs_20140328.DescribeLogStreams";
    const Result<Json> page =
        co_await client_.api.call(std::move(target), std::move(input), patience_);
    if (!page && page.error().code == Errc::not_found) co_return Result<void>();  // No log yet.
    if (!page) co_return page.error();
    const auto list = page->find("logStreams");
    if (list == page->end() || !list->is_array()) break;
    for (const Json& each : *list) {
      std::string name = member_text(each, "logStreamName");
      if (name.empty() || !known.insert(name).second) continue;
      std::string host = host_of_stream(name);
      if (!options_.filter.host.empty() && host != options_.filter.host) continue;
      streams_.push_back({std::move(name), std::move(host), "", merge_.add_source()});
    }
    token = list->empty() ? std::string() : member_text(*page, "nextToken");
  } while (!token.empty());
  co_return Result<void>();
}

/// GetLogEvents' input for a stream of which nothing has been read.
Json JobLog::first_page_of(const Stream& stream) const {
  const LogFilter& filter = options_.filter;
  const std::size_t limit =
      std::clamp(events_page_max * 4 / streams_.size(), events_page_min, events_page_max);
  // No stream has more lines in the tail than the tail has. Which of them are a rank's is not known
  // before they are here.
  const bool at_end = first_look_ && filter.tail > 0 && filter.tail <= limit && !filter.rank;
  Json input{{"logGroupName", log_group},
             {"logStreamName", stream.name},
             {"startFromHead", !at_end},
             {"limit", at_end ? filter.tail : limit}};
  if (filter.since) input["startTime"] = std::max<std::int64_t>(filter.since->count(), 0);
  return input;
}

loop::Task<Result<void>> JobLog::read_page(Stream& stream) {
  Json input = first_page_of(stream);
  if (!stream.token.empty()) {
    input["nextToken"] = stream.token;
    input["startFromHead"] = true;  // AWS wants it beside a forward token.
  }
  std::string target = "Logs_20140328.GetLogEvents";
  const Result<Json> page =
      co_await client_.api.call(std::move(target), std::move(input), patience_);
  if (!page) co_return page.error();
  const std::string token = member_text(*page, "nextForwardToken");
  const auto events = page->find("events");
  const bool any = events != page->end() && events->is_array() && !events->empty();
  if (any)
    for (const Json& event : *events) {
      const auto time = event.find("timestamp");
      const bool known = time != event.end() && time->is_number_integer();
      const UnixMillis when(known ? time->get<std::int64_t>() : 0);
      merge_.add(stream.source, log_entry(stream.host, when, member_text(event, "message")));
    }
  // A token that comes once more is CloudWatch's word for the end; an empty page alone is not.
  stream.empty_pages = any ? 0 : stream.empty_pages + 1;
  if (token.empty() || token == stream.token || stream.empty_pages >= empty_pages_max)
    merge_.dry(stream.source);
  if (!token.empty()) stream.token = token;
  co_return Result<void>();
}

/// Shows what was asked for, or keeps it while the end of the log is not known.
void JobLog::take(LogEntry entry) {
  if (!options_.filter.takes(entry)) return;
  if (first_look_ && options_.filter.tail > 0) return tail_.add(std::move(entry));
  show(entry);
}

void JobLog::show(const LogEntry& entry) {
  shown_ = true;
  if (entry.kind == LogEntry::Kind::status)
    return render_->status({entry.name, entry.text, entry.time});
  if (entry.kind == LogEntry::Kind::own)
    return render_->log(entry.host, entry.time, {entry.name, entry.text});
  job::Lines lines;
  lines.rank = entry.rank;
  lines.stream = entry.stream;
  lines.bytes = entry.text + "\n";
  render_->lines(entry.host, entry.time, lines);
}

/// Shows all that there is by now.
loop::Task<Result<void>> JobLog::round(const Json& job) {
  merge_.again();
  take_statuses(job);
  merge_.dry(statuses_);
  const Result<void> found = co_await find_streams(job);
  if (!found) co_return found;
  while (const std::optional<std::size_t> wanting = merge_.wanting()) {
    for (Stream& stream : streams_) {
      if (stream.source != *wanting) continue;
      const Result<void> read = co_await read_page(stream);
      if (!read) co_return read;
    }
    while (std::optional<LogMerge::Next> next = merge_.next()) take(std::move(next->entry));
    const Result<void> flushed = co_await flush();
    if (!flushed) co_return flushed;
  }
  while (std::optional<LogMerge::Next> next = merge_.next()) take(std::move(next->entry));
  for (const LogEntry& entry : tail_.take()) show(entry);
  first_look_ = false;
  const Result<void> flushed = co_await flush();
  co_return flushed;
}

Result<int> JobLog::end(const Json& job) {
  render_->finish();
  if (options_.json) {
    client_.out.text() += end_object(job);
    return exit_code_of_job(job);
  }
  const auto seconds = job.find("TrainingTimeInSeconds");
  const auto billable = job.find("BillableTimeInSeconds");
  if (seconds != job.end() && seconds->is_number_integer() && billable != job.end() &&
      billable->is_number_integer())
    client_.out.text() += seconds_text(seconds->get<std::int64_t>(), billable->get<std::int64_t>(),
                                       hosts_of_job(job));
  client_.out.text() += metrics_line(job);
  const auto artifacts = job.find("ModelArtifacts");
  if (artifacts != job.end()) {
    const std::string model = member_text(*artifacts, "S3ModelArtifacts");
    if (!model.empty()) client_.out.text() += "Model: " + visible_line(model) + "\n";
  }
  return exit_code_of_job(job);
}

/// Nothing at all is what a rank shows that the log does not know, too.
void JobLog::say_if_nothing() const {
  if (shown_ || !options_.filter.rank) return;
  client_.complain(
      job_ + "'s log has no lines from rank " + std::to_string(*options_.filter.rank) +
      "; a program that runs alone on its host has no rank: use --host to see its lines");
}

loop::Task<Result<int>> JobLog::run() {
  loop::Timer timer(client_.loop);
  while (true) {
    // Describe first, then read the log: so the log is complete when the description shows the end.
    const Result<Json> job = co_await describe(client_, job_, patience_);
    if (!job) co_return job.error();
    if (!render_) {
      const Result<void> known = check_host(*job);
      if (!known) co_return known.error();
      make_render(*job);
    }
    const Result<void> shown = co_await round(*job);
    if (!shown) co_return shown.error();
    if (!options_.follow || has_ended(*job)) say_if_nothing();
    if (!options_.follow) co_return exit_success;
    if (has_ended(*job)) {
      const Result<int> code = end(*job);
      co_await client_.out.flush();
      const bool colour = client_.colour && ::isatty(STDERR_FILENO) == 1;
      const std::string text = end_text(*job, colour);
      static_cast<void>(write_all(STDERR_FILENO, text));
      co_return code;
    }
    patience_ = ApiClient::Patience::some;
    const bool due = co_await timer.after(poll_every);
    if (!due) co_return fail(Errc::closed, "ended");
  }
}

}  // namespace

Error no_such_host(const std::string& job, const std::string& host, int hosts) {
  const std::string last = hosts == 1 ? "" : " to algo-" + std::to_string(hosts);
  return fail(Errc::invalid_input, job + " has no host " + to_utf8(host) + ", only algo-1" + last);
}

loop::Task<Result<int>> show_log(Client& client, std::string job, JobLogOptions options) {
  JobLog log(client, std::move(job), std::move(options));
  const Result<int> code = co_await log.run();
  co_return code;
}

}  // namespace muster::cli
