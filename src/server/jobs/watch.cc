#include "server/jobs/watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "platform/failure_reason.h"
#include "server/cloudwatch/usage_series.h"
#include "server/jobs/job_notes.h"
#include "server/jobs/until_stored.h"

namespace muster::jobs {
namespace {

constexpr Duration scrape_pause = std::chrono::seconds(1);
constexpr std::string_view restarting = "Restarting";

/// The order of a job's statuses; 0 for statuses outside of it.
int place_of(std::string_view secondary) {
  constexpr std::string_view order[] = {"Pending", "Starting", "Downloading", "Training",
                                        "Uploading"};
  const auto* const found = std::find(std::begin(order), std::end(order), secondary);
  return found == std::end(order) ? 0 : static_cast<int>(found - std::begin(order)) + 1;
}

}  // namespace

store::JobFinish finish_of(const platform::JobReport& report) {
  using End = platform::JobEnd::Status;
  const platform::JobEnd& end = report.end;
  store::JobFinish finish;
  finish.change.status = end.status == End::completed ? store::Status::completed
                         : end.status == End::failed  ? store::Status::failed
                                                      : store::Status::stopped;
  finish.change.secondary = end.last.status;
  finish.change.message = end.last.message;
  finish.change.time = end.last.time;
  const Json uploaded = Json::parse(report.uploaded, nullptr, false);
  if (uploaded.is_object() && uploaded.contains("model"))
    finish.model_artifacts = uploaded["model"].value("url", "");
  if (end.status != End::failed) return finish;
  finish.failure_reason = platform::failure_reason(report);
  if (end.cause) finish.cause = to_text(platform::to_json(*end.cause));
  return finish;
}

struct Watch::Scraping {
  bool is_due = false;  ///< There are new lines.
  bool is_running = false;
};

Watch::Watch(WatchContext context, std::string job, std::string_view secondary, AtEnd at_end,
             std::string remark)
    : context_(context),
      job_(std::move(job)),
      told_(place_of(secondary)),
      starts_again_(secondary == restarting),
      at_end_(std::move(at_end)),
      remark_(std::move(remark)),
      scraping_(std::make_shared<Scraping>()) {}

/// A job that restarts passes all statuses again; it is Restarting until its hosts run.
void Watch::status(const platform::StatusLine& line) {
  const int place = place_of(line.status);
  if (line.status == restarting) {
    told_ = 0;
    starts_again_ = true;
    placed_.clear();
    ++context_.counts.restarts;
  } else if (place > place_of("Starting")) {
    starts_again_ = false;
  }
  if (place != 0 && place < told_) return;  // An earlier server reported it.
  told_ = std::max(told_, place);
  store::StatusChange change;
  change.status = line.status == "Stopping" ? store::Status::stopping : store::Status::in_progress;
  change.secondary = starts_again_ && place > 0 ? std::string(restarting) : line.status;
  change.message = line.message;
  change.time = line.time;
  change.beside = line.beside;
  if (line.status == "Training" && !line.beside && !remark_.empty())
    change.message += " (" + remark_ + ")";
  changes_.push_back(std::move(change));
  const Result<void> told = tell();
  if (!told) context_.log.error(job_ + ": " + told.error().text);
}

void Watch::lines(const std::string&, UnixMillis, const job::Lines&) {
  scraping_->is_due = true;
}

/// A report that cannot be stored is dropped, because the job's log contains it, too.
void Watch::log(const std::string& host, UnixMillis, const job::LogLine& line) {
  const std::string report = job::numa_report_of(line);
  if (report.empty() || !placed_.insert(host).second) return;
  const Result<std::optional<store::Job>> job = context_.store.job(job_);
  if (!job || !*job) return;
  const Result<void> put =
      context_.store.put_notes(job_, with_numa_note((*job)->notes, host, report));
  static_cast<void>(put);
}

void Watch::standstill(const std::optional<platform::Standstill>& what) {
  if (what)
    context_.standstills[job_] = *what;
  else if (context_.standstills.erase(job_) == 0)
    return;
  context_.store.changed_elsewhere();
}

/// A sample that cannot be stored is dropped, because another one follows.
void Watch::usage(const std::vector<engine::HostUsage>& hosts) {
  std::vector<std::pair<std::string, store::HostSample>> samples;
  for (const auto& [host, time, usage] : hosts)
    samples.emplace_back(host, store::HostSample{.time = time,
                                                 .processor = usage.processor_time.count(),
                                                 .memory = usage.memory_bytes,
                                                 .disk_read = usage.disk.in,
                                                 .disk_written = usage.disk.out,
                                                 .net_in = usage.network.in,
                                                 .net_out = usage.network.out});
  for (const auto& [host, sample] : samples) thinned_.try_emplace(host);
  const Result<void> put = context_.store.put_usage(job_, samples);
  static_cast<void>(put);
  std::vector<std::pair<std::string, store::GpuSample>> gpus;
  for (const auto& [host, time, usage] : hosts)
    for (const job::GpuUse& gpu : usage.gpus)
      if (gpu.percent >= 0)
        gpus.emplace_back(host, store::GpuSample{.time = time,
                                                 .gpu = gpu.number,
                                                 .percent = static_cast<double>(gpu.percent),
                                                 .memory = gpu.memory_bytes});
  if (gpus.empty()) return;
  const Result<void> put_gpus = context_.store.put_gpus(job_, gpus);
  static_cast<void>(put_gpus);
}

/// Also thins the existing samples when the pause has grown, to limit the number per host.
Duration Watch::usage_pause() {
  const UnixMillis now = wall_time();
  if (!usage_began_) usage_began_ = context_.store.usage_began(job_).value_or(std::nullopt);
  usage_pause_ = cloudwatch::usage_pause(usage_began_.value_or(now), now);
  thin_one();
  return usage_pause_;
}

/// Thins the samples of one host that needs it. Thinning hundreds of hosts at once would block the
/// loop for seconds.
void Watch::thin_one() {
  const auto least =
      std::min_element(thinned_.begin(), thinned_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least == thinned_.end() || least->second >= usage_pause_) return;
  const Result<void> thinned = context_.store.thin_usage(job_, least->first, usage_pause_);
  if (thinned) least->second = usage_pause_;
}

void Watch::ended(const platform::JobReport& report) {
  context_.counts.add(report.end);
  end_ = finish_of(report);
}

loop::Task<> Watch::flush() {
  if (end_) {
    co_await store_end();
    co_return;
  }
  const Result<void> told = tell();  // Errors were reported before.
  static_cast<void>(told);
  if (!scraping_->is_due || scraping_->is_running) co_return;
  scraping_->is_running = true;
  context_.tasks.start(scrape_beside(context_, job_, scraping_));
}

/// Stores the pending changes, in order.
Result<void> Watch::tell() {
  for (; !changes_.empty(); changes_.pop_front())
    TRY(context_.store.set_status(job_, changes_.front()));
  return {};
}

loop::Task<> Watch::store_end() {
  co_await until_stored(context_.loop, context_.reserve, context_.log, job_, at_end_.keep_journals);
  co_await scrape_all(context_, job_);
  if (const std::uint64_t left_out = context_.metrics.left_out(job_); left_out > 0)
    context_.log.warning(
        job_ + ": " + std::to_string(left_out) +
        " lines of its log were not searched for metrics: its regular expressions take too long");
  std::function<Result<void>()> tell_all = [this] { return tell(); };
  co_await until_stored(context_.loop, context_.reserve, context_.log, job_, std::move(tell_all));
  store::JobFinish end = *std::exchange(end_, std::nullopt);
  co_await at_end_.finish(std::move(end));
}

loop::Task<> Watch::scrape_all(WatchContext context, std::string job) {
  Result<bool> is_more = true;
  while (is_more && *is_more) is_more = co_await context.metrics.scrape(job);
  if (!is_more) context.log.error(job + ": metrics: " + is_more.error().text);
}

/// Until a pause passes without new lines, so that the last line before a silence is read, too. The
/// job's Watch may be destroyed before.
loop::Task<> Watch::scrape_beside(WatchContext context, std::string job,
                                  std::shared_ptr<Scraping> scraping) {
  loop::Timer pause(context.loop);
  while (std::exchange(scraping->is_due, false)) {
    co_await scrape_all(context, job);
    co_await pause.after(scrape_pause);
  }
  scraping->is_running = false;
}

}  // namespace muster::jobs
