#include "platform/life_cycle.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace muster::platform {
namespace {

using job::Phase;

constexpr std::string_view message_of(Phase phase) {
  switch (phase) {
    case Phase::starting:
      return "Starting the training job";
    case Phase::downloading:
      return "Downloading input data";
    case Phase::training:
      return "Training image download completed. Training in progress.";
    case Phase::uploading:
      return "Uploading generated training model";
    case Phase::completed:
      return "Training job completed";
    case Phase::failed:
      return "Training job failed";
    case Phase::stopped:
      return "Training job stopped";
  }
  return "";
}

StatusLine line_of(Phase phase, UnixMillis time) {
  return {std::string(job::phase_name(phase)), std::string(message_of(phase)), time};
}

StatusLine starting_line(std::string message, UnixMillis time) {
  return {std::string(job::phase_name(Phase::starting)), std::move(message), time};
}

Action say(StatusLine line) {
  return {.kind = Action::Kind::say, .line = std::move(line)};
}

void add(Actions& actions, Actions more) {
  actions.insert(actions.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

void earlier(std::optional<TimePoint>& deadline, TimePoint at) {
  if (!deadline || at < *deadline) deadline = at;
}

}  // namespace

LifeCycle::LifeCycle(Options options, TimePoint now)
    : options_(std::move(options)), time_(now), times_out_at_(now + options_.run_time_max) {
  CHECK_THAT(!options_.hosts.empty(), "a job has a host, its leader");
  if (options_.wait_max) waits_out_at_ = now + *options_.wait_max;
  for (const std::string& name : options_.hosts) hosts_.emplace_back().facts.host = name;
}

LifeCycle::Host& LifeCycle::host(const std::string& name) {
  for (Host& host : hosts_)
    if (host.facts.host == name) return host;
  CHECK_THAT(false, "a host that is not of the job");
  return hosts_.front();
}

Actions LifeCycle::begin(UnixMillis time) {
  launched_ = time;
  return {say(line_of(Phase::starting, time)),
          say(starting_line("Launching requested ML instances", time))};
}

bool LifeCycle::is_queued() const {
  return std::any_of(hosts_.begin(), hosts_.end(),
                     [](const Host& each) { return each.stage == Stage::queued && !each.over(); });
}

Actions LifeCycle::on_queued(const std::string& name, const std::string& reason, UnixMillis time) {
  host(name).stage = Stage::queued;
  if (reason == waited_for_) return {};
  waited_for_ = reason;
  return {say(starting_line("Waiting to be started: " + reason, time))};
}

Actions LifeCycle::on_started(const std::string& name, UnixMillis time, TimePoint now) {
  time_.advance(now);
  const bool waited = is_queued();
  host(name).stage = Stage::started;
  if (waited && !is_queued()) times_out_at_ = now + options_.run_time_max;
  const bool all = std::all_of(hosts_.begin(), hosts_.end(), [](const Host& each) {
    return each.stage == Stage::started && !each.over();
  });
  if (!all || ending_.is_cut_short()) return {};
  return say_up_to(Said::preparing, time);
}

Phase LifeCycle::phase_of(Said said) {
  switch (said) {
    case Said::starting:
    case Said::preparing:
      return Phase::starting;
    case Said::downloading:
      return Phase::downloading;
    case Said::training:
      return Phase::training;
    case Said::uploading:
      return Phase::uploading;
  }
  return Phase::starting;
}

/// Each status once: a journal may report later ones before the engine reports the start.
Actions LifeCycle::say_up_to(Said said, UnixMillis time) {
  Actions actions;
  while (said_ < said) {
    said_ = static_cast<Said>(static_cast<int>(said_) + 1);
    // The engine's clock may be slightly behind ours: times never go back.
    actions.push_back(
        say(said_ == Said::preparing
                ? starting_line("Preparing the instances for training", std::max(time, launched_))
                : line_of(phase_of(said_), time)));
  }
  return actions;
}

Actions LifeCycle::on_record(const std::string& name, const job::Record& record, TimePoint now) {
  time_.advance(now);
  Host& from = host(name);
  if (record.kind == job::Message::phase) {
    const Result<job::PhaseChange> change = job::phase_from(record.payload);
    if (change) on_phase(from, *change, record.time);
    return say_progress(record.time);
  }
  if (record.kind == job::Message::verdict) {
    const Result<Json> json = parse_json(record.payload);
    const Result<job::Verdict> word = json ? job::verdict_from(*json) : json.error();
    if (!word) return {};
    from.facts.word = *word;
    from.facts.word_time = record.time;
    if (!word->success())
      on_failure(word->outcome.is_stopped(), now);
    else if (&from == &hosts_.front())
      on_success(now);
  }
  if (record.kind == job::Message::outcome) {
    const Result<std::optional<job::HostEnd>> end = job::host_end_from(record.payload);
    if (!end || !*end) return {};
    from.facts.end = **end;
    if (from.facts.end_time == UnixMillis(0)) from.facts.end_time = record.time;
    if (!(*end)->outcome.success()) on_failure((*end)->stopped, now);
  }
  if (record.kind == job::Message::log) {
    const Result<job::LogLine> line = job::log_from(record.payload);
    if (line && line->level == "error") from.facts.trouble = line->text;
  }
  return {};
}

Actions LifeCycle::on_journal_error(const std::string& name, const Error& error, TimePoint now) {
  time_.advance(now);
  job::Verdict verdict;
  verdict.outcome = job::Outcome::failed(error.text);
  verdict.host = name;
  verdict.process = "journal";
  return on_verdict(std::move(verdict), now);
}

Actions LifeCycle::on_verdict(job::Verdict verdict, TimePoint now) {
  time_.advance(now);
  Host& from = host(verdict.host);
  if (!from.facts.word) from.facts.word = std::move(verdict);
  on_failure(false, now);
  return due(now);
}

void LifeCycle::on_phase(Host& from, const job::PhaseChange& change, UnixMillis time) {
  from.phase = std::max(from.phase, change.phase);
  if (change.phase == Phase::uploading) from.facts.end_time = time;
  if (from.phase >= Phase::downloading && !began_) began_ = time;
  if (from.phase >= Phase::uploading && !from.facts.killed) from.kill_at.reset();
  if (from.phase >= Phase::uploading && !killed_) from.destroy_at.reset();
}

/// A job is as far as its slowest host.
Actions LifeCycle::say_progress(UnixMillis time) {
  Phase least = Phase::uploading;
  for (const Host& each : hosts_)
    if (!each.over()) least = std::min(least, each.phase);
  Said said = Said::starting;
  for (const Said each : {Said::downloading, Said::training, Said::uploading})
    if (phase_of(each) <= least) said = each;
  return say_up_to(said, time);
}

void LifeCycle::on_failure(bool by_request, TimePoint now) {
  if (!ending_.failure(by_request)) return;
  // The sender that asked this host to end may have asked the others, too: they get their grace.
  const Duration window =
      by_request ? options_.grace + options_.stop_margin : options_.failure_window;
  for (Host& each : hosts_)
    if (!each.over() && each.phase < Phase::uploading) earlier(each.kill_at, now + window);
}

void LifeCycle::on_success(TimePoint now) {
  ending_.success();
  for (Host& each : hosts_)
    if (!each.over() && each.phase < Phase::uploading)
      earlier(each.kill_at, now + options_.success_window);
}

Actions LifeCycle::on_steward_end(const std::string& name, job::Outcome outcome, UnixMillis time,
                                  TimePoint now) {
  time_.advance(now);
  Host& from = host(name);
  // Somebody else's stop, an operator's of the cluster: as good as one of the user's. Its hosts
  // have mostly said by then that they were asked to end.
  if (outcome.is_stopped()) ending_.stopped_outside();
  const bool well = from.facts.end && from.facts.end->outcome.success() && outcome.success();
  from.facts.steward = std::move(outcome);
  from.facts.steward_time = time;
  from.kill_at.reset();
  from.destroy_at.reset();
  if (!well && !from.facts.killed) on_failure(false, now);
  return ending_.is_cut_short() ? Actions{} : say_progress(time);
}

Actions LifeCycle::on_host_gone(const std::string& name, JobEnd::Taken how, const std::string& why,
                                UnixMillis time, TimePoint now) {
  time_.advance(now);
  job::Outcome outcome = how == JobEnd::Taken::lost ? job::Outcome::lost(why)
                                                    : job::Outcome::failed("preempted: " + why);
  host(name).taken = how;
  host(name).facts.gone = outcome;
  return on_steward_end(name, std::move(outcome), time, now);
}

Actions LifeCycle::on_time_limit(const std::string& name, const std::string& why, UnixMillis time,
                                 TimePoint now) {
  time_.advance(now);
  // What an engine had left to run that was away meanwhile is never less than a second.
  if (time_left(now) <= std::chrono::seconds(1)) ending_.ended_by_limit();
  Host& from = host(name);
  from.facts.gone = job::Outcome::failed(why);
  return on_steward_end(name, *from.facts.gone, time, now);
}

Actions LifeCycle::stop_all(StatusLine line, TimePoint now) {
  Actions actions{say(std::move(line))};
  for (Host& each : hosts_) {
    if (each.over()) continue;
    actions.push_back(
        {.kind = Action::Kind::stop, .host = each.facts.host, .grace = options_.grace});
    if (each.phase < Phase::uploading)
      earlier(each.kill_at, now + options_.grace + options_.stop_margin);
  }
  return actions;
}

Actions LifeCycle::on_stop(UnixMillis time, TimePoint now) {
  time_.advance(now);
  if (ending_.stopped() != Ending::Stopped::no) return {};
  ending_.stop();
  return stop_all({"Stopping", "Stopping the training job", time}, now);
}

Actions LifeCycle::on_kill(TimePoint now) {
  time_.advance(now);
  ending_.stop();
  killed_ = true;
  for (Host& each : hosts_)
    if (!each.over()) each.kill_at = now;
  return due(now);
}

Actions LifeCycle::on_time(UnixMillis time, TimePoint now) {
  time_.advance(now);
  Actions actions;
  if (waits_out_at_ && now >= *waits_out_at_ && ending_.goes_on()) {
    ending_.wait_is_up();
    add(actions, stop_all({"Stopping", "Training job wait time exceeded its limit", time}, now));
  }
  if (now >= times_out_at_ && may_time_out()) {
    ending_.time_is_up();
    add(actions, stop_all({"Stopping", "Training job runtime exceeded its limit", time}, now));
  }
  add(actions, due(now));
  return actions;
}

Actions LifeCycle::due(TimePoint now) {
  Actions actions;
  for (Host& each : hosts_) {
    if (each.over()) continue;
    if (each.kill_at && *each.kill_at <= now) {
      each.kill_at.reset();
      each.facts.killed = true;
      const bool uploads = each.phase >= Phase::uploading;
      each.destroy_at = now + (uploads ? options_.upload_margin : options_.kill_margin);
      actions.push_back({.kind = Action::Kind::kill, .host = each.facts.host});
    } else if (each.destroy_at && *each.destroy_at <= now) {
      each.destroy_at.reset();
      actions.push_back({.kind = Action::Kind::destroy, .host = each.facts.host});
    }
  }
  return actions;
}

std::optional<TimePoint> LifeCycle::next_deadline() const {
  std::optional<TimePoint> next;
  if (may_time_out()) next = times_out_at_;
  if (waits_out_at_ && ending_.goes_on()) earlier(next, *waits_out_at_);
  for (const Host& each : hosts_) {
    if (each.kill_at) earlier(next, *each.kill_at);
    if (each.destroy_at) earlier(next, *each.destroy_at);
  }
  return next;
}

bool LifeCycle::finished() const {
  return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& each) { return each.over(); });
}

namespace {

JobEnd::Taken taken_by(job::Card card) {
  switch (card) {
    case job::Card::working:
      return JobEnd::Taken::no;
    case job::Card::memory_error:
      return JobEnd::Taken::card_memory;
    case job::Card::broken:
      return JobEnd::Taken::card_broken;
  }
  return JobEnd::Taken::no;
}

}  // namespace

JobEnd LifeCycle::end(UnixMillis time) const {
  CHECK_THAT(finished(), "a job ends when all its stewards have");
  using Stopped = Ending::Stopped;
  std::vector<HostFacts> facts;
  for (const Host& each : hosts_) facts.push_back(each.facts);
  JobEnd end;
  end.verdict = verdict_over(facts);
  end.reason = reason_of(end.verdict, facts);
  end.verdict.failure_file.clear();  // From the host that reported the verdict.
  for (const HostFacts& each : facts)
    if (each.host == end.verdict.host && each.word) end.failure_file = each.word->failure_file;
  if (began_) end.training_time = std::chrono::ceil<std::chrono::seconds>(time - *began_);
  if (ending_.stopped() == Stopped::wait_limit) {
    end.status = JobEnd::Status::waited_out;
    end.last = {"MaxWaitTimeExceeded",
                "Training job exceeded the limit for its queue time plus run time", time};
  } else if (ending_.stopped() == Stopped::time_limit) {
    end.status = JobEnd::Status::timed_out;
    end.last = {"MaxRuntimeExceeded", "Training job exceeded its time limit", time};
  } else if (ending_.stopped() == Stopped::on_request) {
    end.status = JobEnd::Status::stopped;
    end.last = line_of(Phase::stopped, time);
  } else if (end.verdict.success()) {
    end.status = JobEnd::Status::completed;
    end.last = line_of(Phase::completed, time);
  } else {
    end.status = JobEnd::Status::failed;
    end.last = line_of(Phase::failed, time);
    end.last.message += ": " + end.reason;
    for (const Host& each : hosts_) {
      if (each.facts.host != end.verdict.host) continue;
      if (end.verdict.process == "host") end.taken = each.taken;
      if (end.taken == JobEnd::Taken::no && each.facts.end)
        end.taken = taken_by(each.facts.end->card);
    }
  }
  return end;
}

std::string_view status_name(JobEnd::Status status) {
  if (status == JobEnd::Status::completed) return "Completed";
  return status == JobEnd::Status::failed ? "Failed" : "Stopped";
}

}  // namespace muster::platform
