#include "platform/job_run.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "job/preflight/health.h"
#include "net/loop/tasks.h"
#include "net/loop/worker.h"
#include "platform/hang.h"
#include "platform/look.h"
#include "platform/stack_tree.h"

namespace muster::platform {
namespace {

constexpr Duration last_steward_limit = std::chrono::seconds(10);
constexpr std::size_t hang_lines_max = 500;  ///< Stacks in a log.
constexpr Duration last_steward_pause = std::chrono::milliseconds(20);

class JobRun {
 public:
  JobRun(loop::Loop& loop, engine::Run& run, const job::Spec& spec, LifeCycle::Options times,
         const JobRunOptions& options, Sink& sink, Requests& requests)
      : loop_(loop),
        run_(run),
        spec_(spec),
        cycle_(std::move(times), Clock::now()),
        hang_after_(options.hang_after.value_or(spec.hang_after)),
        hang_(hang_after_),
        silence_(hang_after_ > Duration(0) ? std::chrono::milliseconds(0) : options.silent_after),
        sink_(sink),
        requests_(requests),
        next_(run.hosts().size(), 1),
        reach_(tasks_, run),
        usage_(loop, tasks_, run),
        tasks_(loop) {
    requests_.set_usage(&usage_);
    requests_.set_reach([this] { return reach_.look(Clock::now()); });
    requests_.set_look([this](job::Calls calls) { return look_at_hosts(tasks_, run_, calls); });
  }
  JobRun(const JobRun&) = delete;
  JobRun& operator=(const JobRun&) = delete;
  ~JobRun() {
    requests_.set_usage(nullptr);
    requests_.set_look({});
    requests_.set_reach({});
  }

  loop::Task<> run();
  JobEnd end() const {
    JobEnd end = cycle_.end(wall_time());
    if (end.status == JobEnd::Status::failed) end.cause = causes_.cause_of(end.verdict);
    end.timelines = causes_.timelines();
    return end;
  }
  bool got_on() const { return got_on_; }
  Duration time_left() const { return cycle_.time_left(Clock::now()); }
  std::optional<Duration> wait_left() const { return cycle_.wait_left(Clock::now()); }

 private:
  loop::Task<> watch_hosts();
  loop::Task<> watch_journals();
  loop::Task<> watch_wishes();
  loop::Task<> watch_hang();
  loop::Task<> watch_silence();
  loop::Task<> watch_usage();
  loop::Task<> tell_hang(std::vector<job::HostStacks> seen);
  void tell_going_on(const char* how);
  void heed_sign_of_life(const job::Record& record);
  void heed_quiet(const job::Lines& lines, UnixMillis written);
  bool read_journals();
  void take(std::size_t host, const job::Record& record);
  void take_health(const job::Record& record);
  void keep_card_failure(const std::string& host, const job::Record& record);
  void take(const engine::Event& event);
  void act(const Actions& actions);
  Actions wished();

  loop::Loop& loop_;
  engine::Run& run_;
  const job::Spec& spec_;
  LifeCycle cycle_;
  Duration hang_after_;
  HangWatch hang_;
  bool told_stacks_ = false;   ///< The log has them once, however often the job hangs.
  UnixMillis hangs_since_{0};  ///< The start of a reported hang; 0: none.
  Silence silence_;
  Sink& sink_;
  Requests& requests_;
  std::deque<engine::Event> events_;          ///< Not taken yet.
  std::map<std::string, std::string> nodes_;  ///< By host, of those that were started.
  bool grown_ = true;                         ///< A journal may have, since it was read.
  std::vector<std::uint64_t> next_;  ///< For each host the number of the record to read next.
  std::set<std::size_t> unreadable_;
  CauseReader causes_;
  bool got_on_ = false;  ///< A checkpoint was kept.
  bool stop_done_ = false;
  bool kill_done_ = false;
  ReachWatch reach_;
  UsageWatch usage_;
  loop::Tasks tasks_;
};

loop::Task<> JobRun::watch_hosts() {
  while (true) {
    Result<engine::Event> event = co_await run_.next_event();
    if (!event) co_return;
    if (event->kind == engine::Event::Kind::started) nodes_[event->host] = event->node;
    events_.push_back(*std::move(event));
    requests_.changed().notify();
  }
}

loop::Task<> JobRun::watch_journals() {
  while (true) {
    const bool grown = co_await run_.grown();
    if (!grown) co_return;
    grown_ = true;
    requests_.changed().notify();
  }
}

/// Wishes and deadlines hold also while the sink takes nothing: a pager must not delay a stop.
loop::Task<> JobRun::watch_wishes() {
  while (true) {
    Actions actions = wished();
    const Actions due = cycle_.on_time(wall_time(), Clock::now());
    actions.insert(actions.end(), due.begin(), due.end());
    act(actions);
    if (!actions.empty()) requests_.changed().notify();  // The sink has something to show.
    const TimePoint deadline = cycle_.next_deadline().value_or(TimePoint::max());
    co_await requests_.changed().wait_until(deadline);
  }
}

loop::Task<> JobRun::watch_hang() {
  while (hang_after_ > Duration(0)) {
    const TimePoint due = hang_.next_look().value_or(TimePoint::max());
    if (Clock::now() < due) {
      co_await requests_.changed().wait_until(due);
      continue;
    }
    const std::vector<job::HostStacks> seen =
        co_await look_at_hosts(tasks_, run_, job::Calls::moves);
    switch (hang_.look(seen, Clock::now())) {
      case HangWatch::Finding::hangs:
        co_await tell_hang(seen);
        break;
      case HangWatch::Finding::goes_on:
        tell_going_on("a rank made progress");
        break;
      case HangWatch::Finding::nothing:
        break;
    }
  }
}

loop::Task<> JobRun::watch_silence() {
  while (hang_after_ == Duration(0)) {
    const UnixMillis now = wall_time();
    if (const std::optional<UnixMillis> since = silence_.look(now))
      sink_.standstill(Standstill{*since, now, ""});
    const std::optional<UnixMillis> due = silence_.due();
    const TimePoint deadline = due ? Clock::now() + (*due - now) : TimePoint::max();
    co_await requests_.changed().wait_until(deadline);
  }
}

/// Runs until no host can ever respond.
loop::Task<> JobRun::watch_usage() {
  loop::Timer turn(loop_);
  while (true) {
    const Duration pause = sink_.usage_pause();
    if (pause <= Duration(0)) co_return;
    const std::vector<job::HostUsage> all = co_await usage_.sample();
    if (usage_.is_hopeless()) co_return;
    if (!all.empty()) sink_.usage(all);
    co_await turn.after(pause);
  }
}

/// Puts all stacks into the first host's log, and reports problems where a status is shown.
loop::Task<> JobRun::tell_hang(std::vector<job::HostStacks> seen) {
  // A rank waits for its GPU below a line of Python, which does not say so.
  if (std::any_of(run_.hosts().begin(), run_.hosts().end(),
                  [this](const std::string& host) { return job::gpus_of(spec_, host) > 0; })) {
    std::vector<job::HostStacks> deeper = co_await look_at_hosts(tasks_, run_, job::Calls::native);
    if (!hang_.hangs()) co_return;  // The job printed something meanwhile.
    if (all_were_seen(deeper)) seen = std::move(deeper);
  }
  const std::string text = hang_text(seen, hang_after_);
  std::vector<job::LogLine> lines{{"warning", text}};
  if (!std::exchange(told_stacks_, true))
    for (const std::string& line : split(trim(stack_text(seen)), '\n'))
      if (lines.size() < hang_lines_max) lines.push_back({"warning", line});
  run_.note(run_.hosts().front(), lines);
  const UnixMillis now = wall_time();
  hangs_since_ = now - std::chrono::duration_cast<UnixMillis>(Clock::now() - hang_.since());
  sink_.status({.status = "Training", .message = text, .time = now, .beside = true});
  sink_.standstill(Standstill{hangs_since_, now, text});
  if (spec_.end_hung) act(cycle_.on_verdict(hang_verdict(seen, text), Clock::now()));
  requests_.changed().notify();
}

/// Not reported for a job that is ending.
void JobRun::tell_going_on(const char* how) {
  const UnixMillis since = std::exchange(hangs_since_, UnixMillis(0));
  if (since == UnixMillis(0)) return;  // Nobody knows yet that it hung.
  sink_.standstill(std::nullopt);
  requests_.changed().notify();
  if (spec_.end_hung || cycle_.failed() || requests_.stop_wanted() || requests_.kill_wanted())
    return;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(wall_time() - since).count();
  run_.note(run_.hosts().front(), {{"warning", "the job no longer hangs: " + std::string(how) +
                                                   " after " + std::to_string(seconds) + " s"}});
}

/// Muster's own lines don't count.
void JobRun::heed_sign_of_life(const job::Record& record) {
  if (record.kind == job::Message::log) return;
  const bool is_line = record.kind == job::Message::lines;
  if (hang_.active(Clock::now())) tell_going_on(is_line ? "it printed a line" : "it made progress");
  if (is_line && silence_.heard(record.time)) sink_.standstill(std::nullopt);
  if (record.kind != job::Message::phase) return;
  const Result<job::PhaseChange> change = job::phase_from(record.payload);
  if (change && change->phase == job::Phase::training) silence_.begin(record.time);
}

/// A program's announcement of how long it will be silent.
void JobRun::heed_quiet(const job::Lines& lines, UnixMillis written) {
  if (hang_after_ == Duration(0)) return;
  // No less than nothing, though a host's clock may be ahead.
  const UnixMillis age = std::max(wall_time() - written, UnixMillis(0));
  for (const std::string& line : split(lines.bytes, '\n'))
    if (const std::optional<Duration> quiet = quiet_from(line, age))
      hang_.quiet_until(Clock::now() + *quiet);
}

loop::Task<> JobRun::run() {
  act(cycle_.begin(wall_time()));
  tasks_.start(watch_hosts());
  tasks_.start(watch_journals());
  tasks_.start(watch_wishes());
  tasks_.start(watch_hang());
  tasks_.start(watch_silence());
  tasks_.start(watch_usage());
  loop::Timer turn(loop_);
  while (!cycle_.finished()) {
    // Hosts that ended before this reading write nothing more.
    const std::deque<engine::Event> events = std::exchange(events_, {});
    grown_ = false;
    while (read_journals()) {
      co_await sink_.flush();
      co_await turn.after(Duration(0));  // However fast a job writes, others get their turn.
    }
    for (const engine::Event& event : events) take(event);
    requests_.changed().notify();  // Deadlines may have moved.
    co_await sink_.flush();
    if (cycle_.finished() || grown_ || !events_.empty()) continue;
    co_await requests_.changed().wait();
  }
  tasks_.end();
  sink_.standstill(std::nullopt);
}

/// One round over all hosts. True if there may be more at once.
bool JobRun::read_journals() {
  bool more = false;
  for (std::size_t host = 0; host < run_.hosts().size(); ++host) {
    if (unreadable_.contains(host)) continue;
    const std::string& name = run_.hosts()[host];
    const Result<engine::Records> got = run_.records(name, next_[host]);
    if (!got) {
      unreadable_.insert(host);
      act(cycle_.on_journal_error(name, got.error(), Clock::now()));
      continue;
    }
    for (const job::Record& record : got->records) take(host, record);
    next_[host] += got->records.size();
    more = more || got->more;
  }
  return more;
}

void JobRun::take(std::size_t host, const job::Record& record) {
  const std::string& name = run_.hosts()[host];
  causes_.take(name, record);
  heed_sign_of_life(record);
  if (record.kind == job::Message::lines) {
    const Result<job::Lines> lines = job::lines_from(record.payload);
    if (lines) heed_quiet(*lines, record.time);
    if (lines) sink_.lines(name, record.time, *lines);
    return;
  }
  if (record.kind == job::Message::preflight_facts) return take_health(record);
  if (record.kind == job::Message::outcome) keep_card_failure(name, record);
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (line) sink_.log(name, record.time, *line);
    got_on_ = got_on_ || (line && line->text.starts_with(job::checkpoint_stored));
  }
  act(cycle_.on_record(name, record, Clock::now()));
}

/// Nodes are called as the engine calls them: a host's own names are its claim.
void JobRun::take_health(const job::Record& record) {
  const Result<Json> json = parse_json(record.payload);
  const bool has_form = json && json->is_object() && json->contains("record") &&
                        json->contains("host") && (*json)["host"].is_string();
  if (!has_form) return;
  const auto node = nodes_.find((*json)["host"].get<std::string>());
  if (node != nodes_.end()) sink_.health(node->second, to_text((*json)["record"]) + "\n");
}

/// A GPU that failed under a program becomes the last known state of its node: as an error if it
/// has to be reset, or worse.
void JobRun::keep_card_failure(const std::string& host, const job::Record& record) {
  const Result<std::optional<job::HostEnd>> end = job::host_end_from(record.payload);
  const auto node = nodes_.find(host);
  if (!end || !*end || (*end)->card == job::Card::working || node == nodes_.end()) return;
  const auto level = (*end)->card == job::Card::broken ? preflight::Finding::Level::error
                                                       : preflight::Finding::Level::warning;
  std::vector<preflight::Finding> findings;
  for (const std::string& line : (*end)->overruns)
    if (line.find(" (Xid ") != std::string::npos)
      findings.push_back({level, preflight::gpu_health_kind, {host}, line});
  preflight::HostFacts facts;
  facts.host = host;
  sink_.health(node->second, preflight::health_text(facts, findings, record.time));
}

void JobRun::take(const engine::Event& event) {
  using Kind = engine::Event::Kind;
  switch (event.kind) {
    case Kind::queued:
      return act(cycle_.on_queued(event.host, event.text, event.time));
    case Kind::started:
      return act(cycle_.on_started(event.host, event.time, Clock::now()));
    case Kind::health:
      if (!event.text.empty()) sink_.log(event.host, event.time, {"warning", event.text});
      return;
    case Kind::ended:
      if (event.time_limit)
        return act(cycle_.on_time_limit(event.host, event.outcome.text, event.time, Clock::now()));
      if (!event.text.empty()) sink_.log(event.host, event.time, {"warning", event.text});
      return act(cycle_.on_steward_end(event.host, event.outcome, event.time, Clock::now()));
    case Kind::lost:
      return act(cycle_.on_host_gone(event.host, JobEnd::Taken::lost, event.text, event.time,
                                     Clock::now()));
    case Kind::preempted:
      return act(cycle_.on_host_gone(event.host, JobEnd::Taken::preempted, event.text, event.time,
                                     Clock::now()));
  }
}

Actions JobRun::wished() {
  Actions actions;
  if (requests_.stop_wanted() && !stop_done_) {
    stop_done_ = true;
    actions = cycle_.on_stop(wall_time(), Clock::now());
  }
  if (requests_.kill_wanted() && !kill_done_) {
    kill_done_ = true;
    const Actions kills = cycle_.on_kill(Clock::now());
    actions.insert(actions.end(), kills.begin(), kills.end());
  }
  return actions;
}

void JobRun::act(const Actions& actions) {
  for (const Action& action : actions) {
    switch (action.kind) {
      case Action::Kind::say:
        sink_.status(action.line);
        break;
      case Action::Kind::stop:
        run_.stop(action.host, action.grace);
        break;
      case Action::Kind::kill:
        run_.kill(action.host);
        break;
      case Action::Kind::destroy:
        run_.destroy(action.host);
        break;
    }
  }
}

/// Merging may take long and blocks, so it runs in a separate thread.
loop::Task<Result<Merged>> merge(loop::Loop& loop, engine::Run& run, std::string out, JobEnd end,
                                 const JobRunOptions& options) {
  const Result<std::vector<engine::HostResult>> results = co_await run.results();
  if (!results) co_return results.error();
  const std::shared_ptr<Merged> merged = std::make_shared<Merged>();
  MergeOptions how{.failed = end.status == JobEnd::Status::failed,
                   .only_if_any = options.only_if_any,
                   .overwrite = options.overwrite,
                   .owner = options.owner};
  if (options.write_log)
    how.write_log = [write = options.write_log, last = end.last](const std::string& folder) {
      return write(folder, last);
    };
  const std::function<Result<void>()> work = [merged, hosts = *results, out,
                                              how]() -> Result<void> {
    *merged = TRY(merge_results(hosts, out, how));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(loop, work);
  if (!done) co_return done.error();
  co_return *merged;
}

/// All attempts of a job, one after the other: the end of the last.
loop::Task<JobEnd> attempt_all(loop::Loop& loop, engine::Run& run, const job::Spec& spec,
                               const JobRunOptions& options, Sink& sink, Requests& requests) {
  LifeCycle::Options times = options.times;
  times.hosts = job::host_names(spec.instance_count);
  times.grace = spec.grace;
  times.run_time_max = spec.run_time_max;
  if (spec.wait_max.count() > 0) times.wait_max = spec.wait_max;
  Retries retries(spec.retries, run.tally());
  std::chrono::seconds trained{0};
  while (true) {
    JobRun job(loop, run, spec, times, options, sink, requests);
    co_await job.run();
    JobEnd end = job.end();
    trained += end.training_time;
    end.training_time = trained;
    const Retries::Answer answer = retries.after(end, job.got_on());
    const bool wanted = !requests.stop_wanted() && !requests.kill_wanted();
    if (!answer.text.empty() && !answer.again)
      sink.log(times.hosts.front(), wall_time(), {"warning", answer.text});
    if (!answer.again || !wanted || job.time_left() <= Duration(0)) co_return end;
    run.set_tally(retries.tally());
    if (end.taken == JobEnd::Taken::card_broken) run.set_broken(end.verdict.host);
    const Result<void> begun = co_await run.replace(times.hosts);
    if (!begun && begun.error().code != Errc::unsupported)
      end.reason += "; the restart failed: " + begun.error().text;
    if (!begun) co_return end;
    sink.status({"Interrupted", answer.text, wall_time()});
    sink.status({"Restarting", "Restarting the training job", wall_time()});
    times.run_time_max = job.time_left();
    times.wait_max = job.wait_left();
  }
}

/// Why there was no room, if that is what Run::upload() gave.
std::optional<std::string> no_room_in(const std::string& uploaded) {
  const Result<Json> json = parse_json(uploaded);
  if (!json || !json->is_object() || !json->contains("no_room")) return std::nullopt;
  return json->value("no_room", "");
}

/// The status shown meanwhile, with the place of the results.
loop::Task<std::string> no_room_text(engine::Run& run, std::string why) {
  const Result<std::vector<engine::HostResult>> results = co_await run.results();
  std::string text = "No space for the results (" + why + ")";
  if (results && !results->empty()) text += ": they are in " + results->front().path;
  if (results && results->size() > 1) text += " and in the same folders on the other hosts";
  co_return text + "; they will be uploaded when there is space";
}

/// Where S3 has no room, again until it does, or somebody stops the job.
loop::Task<Result<std::string>> upload(engine::Run& run, bool completed, Duration pause, Sink& sink,
                                       Requests& requests) {
  const bool stopped = requests.stop_wanted();
  const bool killed = requests.kill_wanted();
  bool told = false;
  while (true) {
    Result<std::string> uploaded = co_await run.upload(completed);
    const std::optional<std::string> why = uploaded ? no_room_in(*uploaded) : std::nullopt;
    if (!why) co_return uploaded;
    if (!std::exchange(told, true)) {
      const std::string text = co_await no_room_text(run, *why);
      sink.status({"Uploading", text, wall_time()});
      co_await sink.flush();
    }
    if (requests.stop_wanted() != stopped || requests.kill_wanted() != killed)
      co_return fail(Errc::closed, *why);
    co_await requests.changed().wait_until(Clock::now() + pause);
  }
}

/// From running hosts to the last file.
loop::Task<Result<JobReport>> carry_out(loop::Loop& loop, std::unique_ptr<engine::Run> run,
                                        job::Spec spec, JobRunOptions options, Sink& sink,
                                        Requests& requests) {
  JobReport report;
  report.end = co_await attempt_all(loop, *run, spec, options, sink, requests);
  if (!spec.s3_output.empty()) {  // First: merging takes the hosts' folders apart.
    const bool completed = report.end.status == JobEnd::Status::completed;
    Result<std::string> uploaded =
        co_await upload(*run, completed, options.upload_pause, sink, requests);
    if (!uploaded)
      report.trouble = uploaded.error().text;
    else
      report.uploaded = *std::move(uploaded);
  }
  if (!spec.output_folder.empty()) {
    Result<Merged> merged = co_await merge(loop, *run, spec.output_folder, report.end, options);
    if (merged)
      report.results = *std::move(merged);
    else if (report.trouble.empty())
      report.trouble = merged.error().text;
  }
  if (!report.trouble.empty() && report.end.status == JobEnd::Status::completed) {
    report.end.status = JobEnd::Status::failed;
    report.end.reason = report.trouble;
    report.end.last = {"Failed", "Training job failed: " + report.trouble, report.end.last.time};
  }
  sink.ended(report);
  co_await sink.flush();
  const bool keep = options.keep || !report.trouble.empty();  // Results are not thrown away.
  const Result<std::string> released = co_await run->release(keep);
  if (released) report.kept = *released;
  if (!report.trouble.empty() && !report.kept.empty())
    report.trouble += "; the results are kept in " + report.kept;
  if (!released && report.trouble.empty()) report.trouble = released.error().text;
  co_return report;
}

/// Ends the processes of a start that was cut short.
loop::Task<> take_away(loop::Loop& loop, std::unique_ptr<engine::Run> run) {
  for (const std::string& host : run->hosts()) run->destroy(host);
  while (true) {
    const Result<engine::Event> event = co_await run->next_event();
    if (!event) break;
  }
  // What remains after that blocks the new start; the error names it.
  const TimePoint deadline = Clock::now() + last_steward_limit;
  loop::Timer pause(loop);
  while (true) {
    const Result<std::string> released = co_await run->release(false);
    if (released || released.error().code != Errc::denied || Clock::now() > deadline) co_return;
    co_await pause.after(last_steward_pause);  // A steward that no record names is about to end.
  }
}

}  // namespace

loop::Task<Result<JobReport>> run_job(loop::Loop& loop, engine::Engine& engine, job::Spec spec,
                                      JobRunOptions options, Sink& sink, Requests& requests) {
  Result<std::unique_ptr<engine::Run>> run = co_await engine.start(spec);
  if (!run) co_return run.error();
  Result<JobReport> report =
      co_await carry_out(loop, *std::move(run), std::move(spec), options, sink, requests);
  co_return report;
}

loop::Task<Result<JobReport>> resume_job(loop::Loop& loop, engine::Engine& engine, job::Spec spec,
                                         JobRunOptions options, Sink& sink, Requests& requests) {
  Result<std::unique_ptr<engine::Run>> run = co_await engine.attach(spec.name);
  if (!run) co_return run.error();
  if (!(*run)->whole()) {
    co_await take_away(loop, *std::move(run));
    co_return fail(Errc::not_found, spec.name + " never started completely");
  }
  Result<JobReport> report =
      co_await carry_out(loop, *std::move(run), std::move(spec), options, sink, requests);
  co_return report;
}

}  // namespace muster::platform
