#include "server/jobs/runner.h"

#include <algorithm>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "job/outcome/shown_words.h"
#include "platform/failure_reason.h"
#include "server/jobs/aws_image.h"
#include "server/jobs/job_notes.h"
#include "server/jobs/priority.h"
#include "server/jobs/training_image.h"
#include "server/jobs/until_stored.h"
#include "server/jobs/vpc_of_job.h"

namespace muster::jobs {
namespace {

/// Earlier usage counts less than 1/30.
constexpr std::chrono::hours use_remembered{5 * 24};
constexpr std::int64_t remembered_at_a_time = 50;

/// How long jobs are read in one turn of the loop.
constexpr std::chrono::milliseconds read_between_calls{10};

Result<api::JobRequest> request_of(const store::Job& job) {
  api::JobRequest request = TRY(api::job_request_from(job.request));
  TRY(put_pins(request.spec, job.manifests));
  return request;
}

}  // namespace

Runner::Runner(loop::Loop& loop, engine::Engine& engine, const server::JournalFiles& journals,
               store::Store& store, cloudwatch::Logs& logs, cloudwatch::Metrics& metrics,
               access::KeyRing& ring, const Log& log, Options options)
    : loop_(loop),
      engine_(engine),
      journals_(journals),
      store_(store),
      logs_(logs),
      metrics_(metrics),
      log_(log),
      options_(std::move(options)),
      keys_(store, ring, options_.data + "/keys", options_.fresh_key,
            options_.preparation.read_manifest, options_.preparation.config.s3_budget_bytes),
      preparation_(keys_, options_.preparation),
      reserve_(options_.data + "/reserve"),
      // If hosts wait in the engine's own queue, this queue does not delay them.
      queue_(engine.schedules() ? Amounts() : options_.preparation.config.capacity, QueueRules(),
             options_.preparation.config.notes),
      waits_changed_(loop),
      tasks_(loop) {}

Result<void> Runner::start() {
  reserve_.take();
  const std::vector<std::string> begun = engine_.list();
  for (const store::UnfinishedJob& each : TRY(store_.unfinished())) {
    if (!std::binary_search(begun.begin(), begun.end(), each.name)) {
      unread_.push_back(each.name);
      ++unread_of_[each.access_key];
      continue;
    }
    const std::optional<store::Job> job = TRY(store_.job(each.name));
    if (!job) continue;
    const Result<void> taken = take_up(*job);
    if (!taken && taken.error().code == Errc::system) return taken.error();
    if (!taken) tasks_.start(end_unreadable(each.name, taken.error()));
  }
  queue_.keep_numbers(static_cast<std::int64_t>(unread_.size()));
  remembered_ = options_.now() - use_remembered;
  is_reading_ = true;
  TRY(read_some(options_.read_at_start));
  if (is_reading_) tasks_.start(read_on());
  tasks_.start(clean_up());
  tasks_.start(watch_waits());
  if (options_.fit_gpus) tasks_.start(watch_gpus());
  if (options_.sweep_uploads) options_.sweep_uploads();
  return {};
}

/// Calls are answered meanwhile: they may stop jobs that are not read yet, and submit others.
loop::Task<> Runner::read_on() {
  while (is_reading_) {
    co_await loop_.turn();
    const Result<void> done = read_some(read_between_calls);
    if (done) continue;
    log_.error("some waiting jobs could not be read: " + done.error().text);
    is_reading_ = false;
    schedule_soon();
  }
}

Result<void> Runner::read_some(Duration budget) {
  const TimePoint until = Clock::now() + budget;
  while (is_reading_ && Clock::now() < until) {
    if (unread_.empty()) {
      is_reading_ = TRY(remember_some());
      continue;
    }
    const std::string name = std::move(unread_.front());
    unread_.pop_front();
    TRY(read_waiting(name, ++read_));
  }
  if (unread_.empty()) unread_of_.clear();
  if (!is_reading_) schedule_soon();
  return {};
}

Result<void> Runner::read_waiting(const std::string& name, std::int64_t number) {
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return {};
  const auto key = unread_of_.find(job->access_key);
  if (key != unread_of_.end() && key->second > 0) --key->second;
  // Stopped meanwhile, and possibly the name was used again.
  if (store::is_terminal(job->state.status) || queue_.waits(name) || queue_.runs(name)) return {};
  if (job->state.status == store::Status::stopping) {
    stop(name);
    return {};
  }
  Result<api::JobRequest> request = request_of(*job);
  const Turn turn = TRY(turn_of(*job));
  if (request)
    enqueue(name, *std::move(request), turn, number);
  else
    tasks_.start(finish(name, failure(request.error())));
  return {};
}

Result<Turn> Runner::turn_of(const store::Job& job) {
  const store::Tags tags = TRY(store_.tags(job.arn));
  return Turn{job.access_key, priority_stored(tags), job.created};
}

Demand Runner::demand_for(const std::string& name, const job::Spec& spec, const Turn& turn) const {
  Demand demand = demand_of(name, spec, options_.preparation.config);
  demand.key = turn.key;
  demand.priority = turn.priority;
  demand.submitted = turn.submitted;
  if (spec.wait_max.count() > 0) demand.wait_until = turn.submitted + spec.wait_max;
  return demand;
}

/// Restores the keys' usage before this server started, and when their lines moved. False: nothing
/// is left.
Result<bool> Runner::remember_some() {
  for (const Queue::Past& each : taken_up_) queue_.remember(each);
  taken_up_.clear();
  const std::vector<store::EndedJob> jobs =
      TRY(store_.ended_after(remembered_, remembered_number_, priority_tag, remembered_at_a_time));
  for (const store::EndedJob& job : jobs) {
    remembered_ = job.ended;
    remembered_number_ = job.number;
    const Result<api::JobRequest> request = api::job_request_from(job.request);
    if (!request) continue;
    const Amounts needs = needs_of(request->spec, options_.preparation.config);
    queue_.remember({.key = job.access_key,
                     .priority = priority_stored({{priority_tag, job.tag}}),
                     .share = share_of(options_.preparation.config.capacity, needs),
                     .submitted = job.created,
                     .started = job.started,
                     .ended = job.ended});
  }
  return !jobs.empty();
}

/// Handles folders that remained because a server ended between a job's end and the removal of its
/// folder. If nothing was uploaded, the folder is kept for the user, because it has the only copy.
loop::Task<> Runner::clean_up() {
  const auto has_ended = [this](const std::string& name) {
    const Result<std::optional<store::Job>> job = store_.job(name);
    return job && *job && store::is_terminal((*job)->state.status);
  };
  // In a separate file, because the engine may have forgotten the job already.
  keys_.sweep(has_ended);
  for (const std::string& name : engine_.list()) {
    if (!has_ended(name)) continue;
    Result<std::unique_ptr<engine::Run>> run = co_await engine_.attach(name);
    if (!run || !(*run)->uploaded()) continue;
    const Result<std::string> released = co_await (*run)->release(false);
    if (!released) log_.error(name + ": " + released.error().text);
  }
}

/// Resumes a job whose hosts run. They request objects as soon as the server responds again.
Result<void> Runner::take_up(const store::Job& job) {
  Result<api::JobRequest> request = request_of(job);
  if (!request) return request.error().in(job.name);
  TRY(keys_.reopen(job, request->spec,
                   own_repository(request->image, options_.preparation.config)));
  const Turn turn = TRY(turn_of(job));
  queue_.take_up(demand_for(job.name, request->spec, turn),
                 job.state.training_start.value_or(options_.now()));
  if (job.state.training_start)
    taken_up_.push_back({.key = turn.key,
                         .priority = turn.priority,
                         .share = 0,
                         .submitted = job.created,
                         .started = *job.state.training_start,
                         .ended = std::nullopt});
  active_[job.name] = std::make_unique<Active>(loop_, *std::move(request));
  log_.info(job.name + ": resumed; its hosts were started by an earlier server");
  tasks_.start(carry(job.name, true));
  return {};
}

/// For a running job whose stored request is no longer readable (an earlier version accepted it):
/// ends its hosts, since nothing about them could be reported.
loop::Task<> Runner::end_unreadable(std::string name, Error why) {
  log_.error(name + ": stopping this running job, because it cannot be resumed: " + why.text);
  Result<std::unique_ptr<engine::Run>> run = co_await engine_.attach(name);
  if (run) {
    for (const std::string& host : (*run)->hosts()) (*run)->destroy(host);
    while ((*run)->whole()) {
      const Result<engine::Event> event = co_await (*run)->next_event();
      if (!event) break;
    }
    const Result<std::string> released = co_await (*run)->release(false);
    if (!released) log_.error(name + ": " + released.error().text);
  }
  co_await finish(name, failure(why));
}

Result<void, aws::Refusal> Runner::check(const api::JobRequest& request) const {
  const JobPreparation::Options& options = options_.preparation;
  TRY(check_request(request, options.config));
  TRY(vpc_of(request, options.config, options.networks ? options.networks() : vpc::Networks{}));
  return {};
}

Result<void, aws::Refusal> Runner::pin(api::JobRequest& request) const {
  const Result<void> pinned = pin_manifests(request.spec, options_.preparation.read_manifest);
  if (pinned) return {};
  if (pinned.error().code == Errc::system) return api::internal_failure(pinned.error());
  return api::invalid(pinned.error().text);
}

Result<void, aws::Refusal> Runner::check_room(const std::string& key) const {
  const std::size_t most = options_.preparation.config.waiting_max;
  const auto unread = unread_of_.find(key);
  const std::size_t count =
      queue_.waiting_count(key) + (unread == unread_of_.end() ? 0 : unread->second);
  if (count < most) return {};
  return aws::Refusal{"ResourceLimitExceeded", "This access key has " + std::to_string(count) +
                                                   " waiting jobs and can have at most " +
                                                   std::to_string(most) +
                                                   "; see jobs.waiting_max in the server's config"};
}

Result<std::optional<int>, aws::Refusal> Runner::priority(const store::Tags& tags,
                                                          const std::string& key) const {
  const Result<std::optional<store::AccessKey>> known = store_.key(key);
  if (!known) return api::internal_failure(known.error());
  const std::vector<std::string> makers = *known ? (*known)->makers : std::vector<std::string>();
  return priority_asked_for(tags, key, options_.preparation.config, makers);
}

void Runner::set_priority(const std::string& name, int priority) {
  const auto after = after_.find(name);
  if (after != after_.end()) after->second.second.priority = priority;
  if (queue_.set_priority(name, priority)) schedule_soon();
}

std::optional<QueuePlace> Runner::place(const std::string& name) const {
  const Demand* const demand = queue_.waiting(name);
  if (demand == nullptr) return std::nullopt;
  return QueuePlace{*queue_.place(name, options_.now()), queue_.waiting_count(), demand->priority};
}

void Runner::submitted(const std::string& name, api::JobRequest request, Turn turn) {
  if (queue_.runs(name)) {  // The earlier job with this name was deleted as soon as it had ended.
    after_.insert_or_assign(name, std::pair(std::move(request), std::move(turn)));
    return;
  }
  log_.info(name + ": taken, " + std::to_string(request.spec.instance_count) + " x " +
            request.spec.instance_type);
  enqueue(name, std::move(request), turn, 0);
}

/// `number`: as Queue::add().
void Runner::enqueue(const std::string& name, api::JobRequest request, const Turn& turn,
                     std::int64_t number) {
  Demand demand = demand_for(name, request.spec, turn);
  const bool has_deadline = demand.wait_until.has_value();
  queue_.add(std::move(demand), number);
  active_[name] = std::make_unique<Active>(loop_, std::move(request));
  if (has_deadline) waits_changed_.notify();
  schedule_soon();
}

/// Ends jobs whose limit for waiting plus running has expired.
loop::Task<> Runner::watch_waits() {
  while (true) {
    const UnixMillis now = options_.now();
    for (const std::string& name : queue_.waited_out(now)) {
      if (!queue_.withdraw(name)) continue;  // The job was started meanwhile.
      active_.erase(name);
      store::JobFinish end;
      end.change = {store::Status::stopped, "MaxWaitTimeExceeded",
                    "Training job exceeded its time limit while waiting", now};
      co_await finish(name, std::move(end));
      schedule_soon();
    }
    const std::optional<UnixMillis> next = queue_.next_waited_out();
    const TimePoint deadline = next ? Clock::now() + (*next - now) : TimePoint::max();
    co_await waits_changed_.wait_until(deadline);
  }
}

std::optional<platform::Standstill> Runner::standstill(const std::string& name) const {
  const auto found = standstills_.find(name);
  return found == standstills_.end() ? std::nullopt : std::optional(found->second);
}

Json Runner::in_slurm(const std::string& name) const {
  return options_.in_slurm ? options_.in_slurm(name) : Json();
}

std::int64_t Runner::hanging() const {
  return std::count_if(standstills_.begin(), standstills_.end(),
                       [](const auto& each) { return !each.second.verdict.empty(); });
}

std::string Runner::why_waiting(const std::string& name) const {
  const std::string why = queue_.why_waiting(name, options_.now());
  return why.empty() ? why : "Waiting for free hosts: " + why;
}

loop::Task<Result<std::vector<job::HostStacks>>> Runner::look(std::string name, job::Calls calls) {
  const auto active = active_.find(name);
  const platform::Requests::Look look =
      active == active_.end() ? nullptr : active->second->requests.look();
  if (!look) co_return fail(Errc::closed, name + ": the job has no running hosts");
  std::vector<job::HostStacks> hosts = co_await look(calls);
  co_return hosts;
}

loop::Task<std::vector<job::HostUsage>> Runner::usage(std::string name) {
  const auto active = active_.find(name);
  platform::UsageWatch* const usage =
      active == active_.end() ? nullptr : active->second->requests.usage();
  if (usage == nullptr) co_return std::vector<job::HostUsage>();
  std::vector<job::HostUsage> hosts = co_await usage->look(platform::usage_age_max);
  co_return hosts;
}

std::vector<std::pair<std::string, std::vector<job::HostUsage>>> Runner::usages(
    Duration age_max) const {
  std::vector<std::pair<std::string, std::vector<job::HostUsage>>> all;
  for (const auto& [name, active] : active_)
    if (platform::UsageWatch* const usage = active->requests.usage())
      all.emplace_back(name, usage->seen(age_max));
  return all;
}

platform::Reach Runner::reach() const {
  platform::Reach all;
  for (const auto& [name, active] : active_) {
    const platform::Reach one = active->requests.reach();
    all.asked += one.asked;
    all.silent += one.silent;
  }
  return all;
}

void Runner::stop(const std::string& name) {
  const bool is_behind = after_.erase(name) > 0;
  if (!is_behind && queue_.runs(name)) {
    log_.info(name + ": stop requested");
    active_.at(name)->requests.stop();
    return;
  }
  if (queue_.withdraw(name)) active_.erase(name);
  tasks_.start(finish_stopped(name));
}

void Runner::kill(const std::string& name) {
  const auto active = active_.find(name);
  if (active == active_.end() || !active->second->requests.stop_wanted()) return;
  log_.info(name + ": killed on request, without waiting any longer");
  active->second->requests.kill();
}

loop::Task<> Runner::finish_stopped(std::string name) {
  store::JobFinish end;
  end.change = {store::Status::stopped, "Stopped", "Training job stopped", options_.now()};
  co_await finish(name, std::move(end));
  schedule_soon();
}

void Runner::deleted(const std::string& name) {
  logs_.forget(name);
  metrics_.forget(name);
  const Result<void> removed = journals_.forget(name);
  if (!removed) log_.error(name + ": cannot remove the job's journals: " + removed.error().text);
}

/// A thousand jobs that are submitted at once need one pass, not one each.
void Runner::schedule_soon() {
  if (pass_is_pending_ || is_reading_) return;
  pass_is_pending_ = true;
  loop_.post([this] { schedule(); });
}

void Runner::schedule() {
  pass_is_pending_ = false;
  ++passes_;
  for (const std::string& name : queue_.start(options_.now())) tasks_.start(carry(name, false));
}

loop::Task<> Runner::carry(std::string name, bool resumed) {
  const Result<void> done = co_await run(name, resumed);
  if (!done) {
    store::JobFinish end = failure(done.error());
    co_await finish(name, std::move(end));
  }
  keys_.remove_files(name);
  // Before other jobs can get its GPUs.
  const auto active = active_.find(name);
  if (active != active_.end() && active->second->card_broke && options_.fit_gpus)
    co_await look_at_gpus();
  queue_.end(name, options_.now());
  active_.erase(name);
  if (auto next = after_.extract(name))
    submitted(name, std::move(next.mapped().first), std::move(next.mapped().second));
  schedule_soon();
}

namespace {

/// "Slurm job 17 on node[1-2]; earlier attempts: 15, 16"
std::string slurm_note(const Json& in_slurm) {
  std::string note = "Slurm job " + in_slurm.at("JobId").get<std::string>();
  if (const std::string nodes = in_slurm.at("Nodes").get<std::string>(); !nodes.empty())
    note += " on " + nodes;
  const auto earlier = in_slurm.at("EarlierJobIds").get<std::vector<std::string>>();
  return earlier.empty() ? note : note + "; earlier attempts: " + join(earlier, ", ");
}

}  // namespace

/// Keeps where the job ran for when the engine no longer has it.
Result<void> Runner::keep_slurm_note(const std::string& name) {
  const Json in = in_slurm(name);
  if (in.is_null() || in.at("JobId").get<std::string>().empty()) return {};
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return {};
  return store_.put_notes(name, job->notes + (job->notes.empty() ? "" : "\n") + slurm_note(in));
}

loop::Task<Result<void>> Runner::run(std::string name, bool resumed) {
  Result<std::optional<store::Job>> job = store_.job(name);
  if (!job) co_return job.error();
  if (!*job) co_return Result<void>();
  Active& active = *active_.at(name);
  Result<job::Spec> spec = co_await preparation_.prepare(**job, active.request);
  if (!spec) co_return spec.error();
  Fd lease;
  if (!resumed) {  // Otherwise its hosts have their image, with their own lease.
    const Result<void> given = co_await give_image(**job, active, *spec, lease);
    if (!given && active.requests.stop_wanted()) co_await finish_stopped(name);
    if (!given && active.requests.stop_wanted()) co_return Result<void>();
    if (!given) co_return given.error();
    if (!spec->notes.empty())
      if (Result<void> noted = store_.put_notes(name, join(spec->notes, "\n")); !noted)
        co_return noted.error();
    job = store_.job(name);  // With the changes of a pull.
    if (!job || !*job) co_return job ? Result<void>() : job.error();
  }
  const store::JobState& state = (*job)->state;
  if (resumed && state.training_start) {
    const auto ran =
        std::chrono::duration_cast<std::chrono::seconds>(options_.now() - *state.training_start);
    spec->run_time_max = std::max(spec->run_time_max - ran, std::chrono::seconds(1));
  }
  if (spec->wait_max.count() > 0) {  // A part of the time has passed.
    const auto gone =
        std::chrono::duration_cast<std::chrono::seconds>(options_.now() - (*job)->created);
    spec->wait_max = std::max(spec->wait_max - gone, std::chrono::seconds(1));
  }
  if (state.status == store::Status::stopping) active.requests.stop();
  Watch::AtEnd at_end;
  at_end.keep_journals = [this, name, hosts = active.request.hosts()] {
    return journals_.keep(name, hosts);
  };
  at_end.finish = [this, name, lack = lack_in(spec->notes)](store::JobFinish end) {
    if (const Result<void> kept = keep_slurm_note(name); !kept)
      log_.warning(name + ": " + kept.error().text);
    end.failure_reason = job::reason_text(with_lack(end.failure_reason, lack), "",
                                          platform::failure_reason_characters_max);
    return finish(name, std::move(end));
  };
  WatchContext context{loop_, tasks_, store_, metrics_, reserve_, log_, counts_, standstills_};
  Watch watch(context, name, state.transitions.back().status, std::move(at_end),
              no_gpu_note(*spec));
  platform::JobRunOptions options;
  if (!resumed) log_.info(name + ": starts");
  Result<platform::JobReport> report = fail(Errc::not_found, "");
  if (resumed)
    report = co_await platform::resume_job(loop_, engine_, *spec, options, watch, active.requests);
  else
    report = co_await platform::run_job(loop_, engine_, *spec, options, watch, active.requests);
  if (!report && resumed && report.error().code == Errc::not_found) {
    const Result<void> anew = co_await run(name, false);
    co_return anew;
  }
  if (!report) co_return report.error();
  active.card_broke = report->end.taken == platform::JobEnd::Taken::card_broken;
  if (!report->trouble.empty()) log_.error(name + ": " + report->trouble);
  co_return Result<void>();
}

namespace {

loop::Task<> bring_into(const BringImage& bring, job::ImageWish wish, std::function<void()> on_pull,
                        std::optional<Result<HeldImage>>& into, loop::Event& changed) {
  Result<HeldImage> came = co_await bring(std::move(wish), std::move(on_pull));
  into.emplace(std::move(came));
  changed.notify();
}

}  // namespace

/// The image of a job whose image is not this machine. Error: as BringImage; any error if the job
/// is stopped meanwhile.
loop::Task<Result<void>> Runner::give_image(const store::Job& job, Active& active, job::Spec& spec,
                                            Fd& lease) {
  Result<TrainingImage, aws::Refusal> meant = training_image(
      active.request.image, active.request.credentials_provider, options_.preparation.config);
  if (!meant) co_return fail(Errc::invalid_input, meant.error().message);
  if (!meant->image) co_return Result<void>();
  Result<std::optional<job::Image>> elsewhere = std::optional<job::Image>();
  if (options_.open_elsewhere)
    elsewhere = options_.open_elsewhere(*meant->image, spec.instance_type);
  if (!elsewhere) co_return elsewhere.error();
  if (*elsewhere) {
    spec.image = *std::move(*elsewhere);
    co_return Result<void>();
  }
  const NotedImage noted = noted_image(job.notes);
  if (noted.name == meant->image->name) meant->image->digest = noted.digest;
  std::optional<Result<HeldImage>> came;
  loop::Tasks bringing(loop_);
  std::function<void()> on_pull = [this, &job] { tell_pull(job); };
  bringing.start(bring_into(options_.bring_image, *std::move(meant->image), std::move(on_pull),
                            came, active.requests.changed()));
  while (!came && !active.requests.stop_wanted()) co_await active.requests.changed().wait();
  if (!came) co_return fail(Errc::closed, "stopped while its image was being pulled");
  if (!*came) co_return came->error();
  spec.notes.insert(spec.notes.begin(), image_note((*came)->image.name, (*came)->image.digest));
  spec.image = std::move((*came)->image);
  lease = std::move((*came)->lease);
  const Result<void> good = job::check(spec);
  co_return good;
}

void Runner::tell_pull(const store::Job& job) {
  const std::string limit =
      std::to_string(options_.preparation.config.pull_limit.count()) + " s at most";
  log_.info(job.name + ": pulling its image, for " + limit);
  std::vector<store::StatusChange> changes;
  if (job.state.transitions.back().status == "Pending")
    changes.push_back({store::Status::in_progress, "Starting",
                       "Preparing the instances for training", options_.now()});
  changes.push_back({store::Status::in_progress, "Downloading",
                     "Downloading the training image, for " + limit, options_.now()});
  for (store::StatusChange& change : changes) {
    change.before_hosts = true;
    const Result<bool> told = store_.set_status(job.name, change);
    if (!told) log_.error(job.name + ": " + told.error().text);
  }
}

store::JobFinish Runner::failure(const Error& error) const {
  const bool theirs = error.code == Errc::invalid_input || error.code == Errc::not_found;
  store::JobFinish end;
  end.change = {store::Status::failed, "Failed", "Training job failed: " + error.text,
                options_.now()};
  end.failure_reason = (theirs ? "ClientError: " : "InternalServerError: ") + error.text;
  return end;
}

/// If an end were not stored, the job would run again.
loop::Task<> Runner::finish(std::string name, store::JobFinish end) {
  // No process of the job needs the key any more: once the end is visible, the key is invalid.
  keys_.revoke(name);
  std::function<Result<void>()> work = [this, &name, &end]() -> Result<void> {
    TRY(store_.finish(name, end));
    return {};
  };
  co_await until_stored(loop_, reserve_, log_, name, std::move(work));
  reserve_.take();
  const std::string& why = end.failure_reason.empty() ? end.change.message : end.failure_reason;
  log_.info(name + ": " + end.change.secondary + ": " + why.substr(0, why.find('\n')));
  if (options_.sweep_uploads) options_.sweep_uploads();
}

}  // namespace muster::jobs
