#include "jobs/runner.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fd.h"
#include "base/json.h"
#include "base/log.h"
#include "base/remove_tree.h"
#include "base/text.h"
#include "jobs/sdk_drivers.h"
#include "platform/crowded.h"

namespace muster::jobs {
namespace {

constexpr std::size_t reason_bytes_max = 1024;  // Of FailureReason. Source: the API's model.
constexpr Duration scrape_pause = std::chrono::seconds(1);
constexpr Duration store_pause = std::chrono::seconds(1);  // Before a disk is tried again.

Env machine_env(Env env, const std::string& folder) {
  env["MUSTER_STATE"] = folder;
  return env;
}

void complain(const std::string& text) {
  Log(STDERR_FILENO, "sm server", Log::Level::info).error(text);
}

/// The order in which a job gets through them; 0 for those that stand outside of it.
int place_of(std::string_view secondary) {
  constexpr std::string_view order[] = {"Pending", "Starting", "Downloading", "Training",
                                        "Uploading"};
  const auto* const found = std::find(std::begin(order), std::end(order), secondary);
  return found == std::end(order) ? 0 : static_cast<int>(found - std::begin(order)) + 1;
}

/// `from` under another name too, or a copy of it on another disk. Fine if it is not there.
Result<void> keep_file(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0 || errno == EEXIST || errno == ENOENT) return {};
  if (errno != EXDEV) return fail_errno(to);
  const std::string fresh = to + ".new";
  std::error_code failed;
  std::filesystem::copy_file(from, fresh, std::filesystem::copy_options::overwrite_existing,
                             failed);
  if (failed) return fail(Errc::system, to + ": " + failed.message());
  return ::rename(fresh.c_str(), to.c_str()) == 0 ? Result<void>() : fail_errno(to);
}

void add_keys(Env& environment, const aws::Credentials& keys) {
  environment["AWS_ACCESS_KEY_ID"] = keys.access_key;
  environment["AWS_SECRET_ACCESS_KEY"] = keys.secret_key;
  if (!keys.session_token.empty()) environment["AWS_SESSION_TOKEN"] = keys.session_token;
}

}  // namespace

/// Tells the store what a job does.
class Runner::Watcher final : public platform::Sink {
 public:
  Watcher(Runner& runner, std::string name, int told)
      : runner_(runner), name_(std::move(name)), told_(told) {}

  void status(const platform::StatusLine& line) override {
    const int place = place_of(line.status);
    if (place != 0 && place <= told_) return;  // An earlier server told it.
    told_ = std::max(told_, place);
    store::StatusChange change;
    change.status =
        line.status == "Stopping" ? store::Status::stopping : store::Status::in_progress;
    change.secondary = line.status;
    change.message = line.message;
    change.time = line.time;
    changes_.push_back(std::move(change));
    const Result<void> told = tell();
    if (!told) complain(name_ + ": " + told.error().text);
  }
  void lines(const std::string&, UnixMillis, const job::Lines&) override {
    scraping_->is_due = true;
  }
  void log(const std::string&, UnixMillis, const job::LogLine&) override {}
  loop::Task<> flush() override {
    if (end_) {
      co_await store_end();
      co_return;
    }
    const Result<void> told = tell();  // Complained of before.
    static_cast<void>(told);
    if (!scraping_->is_due || Clock::now() < scraping_->next) co_return;
    scraping_->is_due = false;
    scraping_->next = TimePoint::max();  // Until this one is done.
    runner_.loop_.spawn(scrape_beside(runner_, name_, scraping_));
  }
  void ended(const platform::JobReport& report) override { end_ = finish_of(report); }

 private:
  /// Stores what has not been stored yet, in its order.
  Result<void> tell() {
    for (; !changes_.empty(); changes_.pop_front()) {
      const Result<bool> set = runner_.store_.set_status(name_, changes_.front());
      if (!set) return set.error();
    }
    return {};
  }

  /// Before the job's folder is removed: with it goes what a server that starts again would read.
  loop::Task<> store_end() {
    std::function<Result<void>()> keep = [this] { return runner_.keep_journals(name_); };
    co_await runner_.surely(name_, std::move(keep));
    co_await scrape_all(runner_, name_);
    if (const std::uint64_t left_out = runner_.metrics_.left_out(name_); left_out > 0)
      complain(name_ + ": " + std::to_string(left_out) +
               " lines of its log gave no metrics: its expressions make too much work of them");
    std::function<Result<void>()> tell_all = [this] { return tell(); };
    co_await runner_.surely(name_, std::move(tell_all));
    store::JobFinish end = *std::exchange(end_, std::nullopt);
    co_await runner_.finish(name_, std::move(end));
  }

  struct Scraping {
    bool is_due = false;  ///< There are new lines.
    TimePoint next{};
  };

  static loop::Task<> scrape_all(Runner& runner, std::string name) {
    Result<bool> is_more = true;
    while (is_more && *is_more) is_more = co_await runner.metrics_.scrape(name);
    if (!is_more) complain(name + ": metrics: " + is_more.error().text);
  }

  /// While the job is followed on; its watcher may be gone before.
  static loop::Task<> scrape_beside(Runner& runner, std::string name,
                                    std::shared_ptr<Scraping> scraping) {
    co_await scrape_all(runner, std::move(name));
    scraping->next = Clock::now() + scrape_pause;
  }

  Runner& runner_;
  std::string name_;
  int told_;                                 ///< How far the store knows, or is about to.
  std::deque<store::StatusChange> changes_;  ///< Not in the store yet: its disk was full.
  std::optional<store::JobFinish> end_;      ///< Likewise.
  std::shared_ptr<Scraping> scraping_ = std::make_shared<Scraping>();
};

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
  const job::Outcome::Kind kind = end.verdict.outcome.kind;
  const bool own = kind == job::Outcome::Kind::exited || kind == job::Outcome::Kind::signaled;
  const bool theirs = own && report.trouble.empty();
  std::string reason = (theirs ? "AlgorithmError: " : "ClientError: ") + end.reason;
  if (theirs && !end.verdict.last_lines.empty()) reason += "\n" + end.verdict.last_lines;
  finish.failure_reason = to_utf8(reason.substr(0, reason_bytes_max));
  return finish;
}

Runner::Runner(loop::Loop& loop, store::Store& store, logs::Logs& logs, logs::Metrics& metrics,
               access::KeyRing& keys, Options options)
    : loop_(loop),
      store_(store),
      logs_(logs),
      metrics_(metrics),
      keys_(keys),
      options_(std::move(options)),
      machine_(loop, machine_env(options_.env, options_.data + "/machine"),
               {.program = kept_program(options_.data + "/machine"),
                .outlived = true,
                .first_user_id = options_.config.first_user_id}),
      reserve_(options_.data + "/reserve") {}

std::string Runner::kept_program(const std::string& folder) {
  constexpr const char* own = "/proc/self/exe";
  const std::string path = folder + "/sm";
  const std::string fresh = path + ".new";
  if (!make_folders(folder, 0700)) return own;
  ::unlink(fresh.c_str());
  if (::linkat(AT_FDCWD, own, AT_FDCWD, fresh.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    std::error_code failed;
    std::filesystem::copy_file(own, fresh, failed);
    if (failed) return own;
  }
  return ::rename(fresh.c_str(), path.c_str()) == 0 ? path : own;
}

Result<void> Runner::start() {
  reserve_.take();
  const std::vector<std::string> begun = machine_.engine().list();
  for (const std::string& name : TRY(store_.unfinished())) {
    if (!std::binary_search(begun.begin(), begun.end(), name)) {
      const std::optional<store::Job> job = TRY(store_.job(name));
      if (job && job->state.status == store::Status::stopping)
        stop(name);
      else
        submitted(name);
      continue;
    }
    TRY(take_up(name));
  }
  loop_.spawn(clean_up());
  return {};
}

/// What stayed when a server ended between a job's end and the removal of its folder. Where nothing
/// was uploaded, the folder is kept for people: what is in it is nowhere else.
loop::Task<> Runner::clean_up() {
  machine_.clear_halves();
  for (const std::string& name : machine_.engine().list()) {
    const Result<std::optional<store::Job>> job = store_.job(name);
    if (!job || !*job || !store::is_terminal((*job)->state.status)) continue;
    ::unlink(credentials_file(name).c_str());
    Result<std::unique_ptr<engine::Run>> run = co_await machine_.engine().attach(name);
    if (!run || !(*run)->uploaded()) continue;
    const Result<std::string> released = co_await (*run)->release(false);
    if (!released) complain(name + ": " + released.error().text);
  }
}

/// A job whose hosts run. They ask for objects from the moment that the server answers again.
Result<void> Runner::take_up(const std::string& name) {
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return {};
  const Json request = TRY(parse_json(job->request));
  if (!job->note.empty())
    if (const std::optional<store::AccessKey> key = TRY(store_.key(job->note)))
      TRY(admit(*key, request));
  std::unique_ptr<Running> running = std::make_unique<Running>(loop_);
  running->demand = {name, needs_of(request, options_.config)};
  running_[name] = std::move(running);
  loop_.spawn(carry(name, true));
  return {};
}

std::optional<api::Refusal> Runner::refuses(const Json& request) const {
  return refused(request, options_.config);
}

void Runner::submitted(const std::string& name) {
  const Result<Json> request = request_of(name);
  if (!request) return loop_.spawn(finish(name, failure(request.error())));
  waiting_.push_back({name, needs_of(*request, options_.config)});
  loop_.post([this] { schedule(); });
}

void Runner::stop(const std::string& name) {
  if (const auto found = running_.find(name); found != running_.end()) {
    found->second->requests.stop();
    return;
  }
  std::erase_if(waiting_, [&](const Demand& demand) { return demand.job == name; });
  loop_.post([this, name] {
    store::JobFinish end;
    end.change = {store::Status::stopped, "Stopped", "Training job stopped", options_.now()};
    loop_.spawn(finish(name, std::move(end)));
    schedule();
  });
}

void Runner::deleted(const std::string& name) {
  logs_.forget(name);
  metrics_.forget(name);
  const Result<void> removed = remove_tree(options_.data + "/journals/" + name);
  if (!removed) complain(name + ": its journals cannot be removed: " + removed.error().text);
}

std::string Runner::journal_of(const std::string& job, const std::string& host) const {
  const std::string kept = options_.data + "/journals/" + job + "/" + host + "/journal";
  if (::access(kept.c_str(), F_OK) == 0) return kept;
  return machine_.journal_file(job, host);
}

void Runner::schedule() {
  std::vector<Demand> running;
  for (const auto& [name, each] : running_) running.push_back(each->demand);
  // Where hosts wait in the engine's own queue, ours is not in their way.
  const Amounts capacity = machine_.engine().schedules() ? Amounts() : options_.config.capacity;
  for (const std::string& name : startable(capacity, running, waiting_)) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Demand& demand) { return demand.job == name; });
    std::unique_ptr<Running> next = std::make_unique<Running>(loop_);
    next->demand = *found;
    waiting_.erase(found);
    running_[name] = std::move(next);
    loop_.spawn(carry(name, false));
  }
}

loop::Task<> Runner::carry(std::string name, bool resumed) {
  const Result<void> done = co_await run(name, resumed);
  if (!done) {
    store::JobFinish end = failure(done.error());
    co_await finish(name, std::move(end));
  }
  ::unlink(credentials_file(name).c_str());
  running_.erase(name);
  schedule();
}

loop::Task<Result<void>> Runner::run(std::string name, bool resumed) {
  const Result<std::optional<store::Job>> job = store_.job(name);
  if (!job) co_return job.error();
  if (!*job) co_return Result<void>();
  Result<job::Spec> spec = co_await specify(**job);
  if (!spec) co_return spec.error();
  const store::JobState& state = (*job)->state;
  if (resumed && state.training_start) {
    const auto ran =
        std::chrono::duration_cast<std::chrono::seconds>(options_.now() - *state.training_start);
    spec->run_time_max = std::max(spec->run_time_max - ran, std::chrono::seconds(1));
  }
  platform::Requests& requests = running_.at(name)->requests;
  if (state.status == store::Status::stopping) requests.stop();
  Watcher watcher(*this, name, place_of(state.transitions.back().status));
  platform::JobRunOptions options;
  Result<platform::JobReport> report = fail(Errc::not_found, "");
  if (resumed)
    report =
        co_await platform::resume_job(loop_, machine_.engine(), *spec, options, watcher, requests);
  if (!report && report.error().code == Errc::not_found)
    report =
        co_await platform::run_job(loop_, machine_.engine(), *spec, options, watcher, requests);
  if (!report) co_return report.error();
  if (!report->trouble.empty()) complain(name + ": " + report->trouble);
  co_return Result<void>();
}

loop::Task<Result<job::Spec>> Runner::specify(store::Job job) {
  const Result<Json> request = parse_json(job.request);
  if (!request) co_return request.error();
  const std::string image = image_of(*request);
  const std::string python = options_.config.python_of(image).value_or(options_.config.python);
  Result<platform::Interpreter> interpreter = co_await machine_.interpreter(python, "/");
  if (!interpreter) co_return interpreter.error().in("the image " + image);
  JobPlaces places;
  places.python = interpreter->program;
  places.interpreter = interpreter->places;
  places.hidden = options_.hidden;
  places.hidden.push_back(options_.data);
  const Env::const_iterator path = options_.env.find("PATH");
  places.path = platform::path_with(*interpreter, path == options_.env.end() ? "" : path->second);
  const Result<void> led =
      options_.s3 ? lead_to_outside(places) : lead_to_s3(job, *request, places);
  if (!led) co_return led.error();
  places.environment["TRAINING_JOB_ARN"] = job.arn;
  places.environment["AWS_REGION"] = places.s3.region;
  places.environment["AWS_DEFAULT_REGION"] = places.s3.region;
  Result<job::Spec> spec = job_spec(*request, options_.config, places);
  if (spec && !options_.config.native_drivers) co_await replace_drivers(*request, *spec);
  if (spec)
    platform::yield_if_crowded(*spec, static_cast<int>(std::thread::hardware_concurrency()));
  co_return spec;
}

loop::Task<> Runner::replace_drivers(const Json& request, job::Spec& spec) const {
  const std::string url = drivers_url(request);
  if (url.empty()) co_return;
  Result<s3wire::S3Url> source = s3wire::parse_s3_url(url + "/sourcecode.json");
  Result<s3wire::S3Url> distributed = s3wire::parse_s3_url(url + "/distributed.json");
  if (!source || !distributed) co_return;
  const Result<std::string> source_text = co_await options_.read_object(*std::move(source));
  if (!source_text) co_return;
  const Result<std::string> distributed_text =
      co_await options_.read_object(*std::move(distributed));
  if (distributed_text) take_over(spec, *source_text, *distributed_text);
}

/// An outside S3 knows nothing of jobs: all of them have its one key.
Result<void> Runner::lead_to_outside(JobPlaces& places) const {
  const aws::Credentials keys = TRY(credentials_of(*options_.s3));
  places.s3 = {.endpoint = options_.s3->endpoint,
               .region = options_.s3->region,
               .credentials_file = options_.s3->credentials_file,
               .ca_file = options_.ca_file};
  places.environment["AWS_ENDPOINT_URL_S3"] = options_.s3->endpoint;
  add_keys(places.environment, keys);
  return {};
}

Result<void> Runner::lead_to_s3(const store::Job& job, const Json& request, JobPlaces& places) {
  const aws::Credentials keys = TRY(key_of(job, request));
  places.s3 = {.endpoint = options_.endpoint,
               .region = options_.region,
               .credentials_file = credentials_file(job.name),
               .ca_file = options_.ca_file};
  TRY(make_folders(options_.data + "/keys", 0700));
  TRY(write_file(places.s3.credentials_file,
                 "[default]\naws_access_key_id = " + keys.access_key +
                     "\naws_secret_access_key = " + keys.secret_key + "\n",
                 0600));
  places.environment["AWS_ENDPOINT_URL"] = options_.endpoint;
  add_keys(places.environment, keys);
  return {};
}

/// A job's key opens what the job may reach.
Result<void> Runner::admit(const store::AccessKey& key, const Json& request) {
  access::AccessKey known;
  known.id = key.id;
  known.secret = key.secret;
  known.owner = key.job;
  known.policy = TRY(policy_of(request));
  return keys_.add(std::move(known));
}

/// A key of the job's own, once: a resumed job's hosts have the one of their start.
Result<aws::Credentials> Runner::key_of(const store::Job& job, const Json& request) {
  std::optional<store::AccessKey> key;
  if (!job.note.empty()) key = TRY(store_.key(job.note));
  if (!key) {
    key = options_.fresh_key();
    key->job = job.name;
    TRY(store_.add_key(*key));
    TRY(store_.put_note(job.name, key->id));
  }
  TRY(admit(*key, request));
  return aws::Credentials{key->id, key->secret, {}};
}

std::string Runner::credentials_file(const std::string& name) const {
  return options_.data + "/keys/" + name;
}

Result<Json> Runner::request_of(const std::string& name) const {
  const std::optional<store::Job> job = TRY(store_.job(name));
  if (!job) return fail(Errc::not_found, "no job named " + name);
  return parse_json(job->request);
}

/// Under <data>/journals, before the engine removes the job's folder; whoever reads one goes on.
Result<void> Runner::keep_journals(const std::string& name) const {
  const Json request = TRY(request_of(name));
  for (const std::string& host : logs::hosts_of(request)) {
    const std::string folder = options_.data + "/journals/" + name + "/" + host;
    const std::string from = machine_.journal_file(name, host);
    TRY(make_folders(folder, 0700));
    TRY(keep_file(from, folder + "/journal"));
  }
  return {};
}

store::JobFinish Runner::failure(const Error& error) const {
  const bool theirs = error.code == Errc::invalid_input || error.code == Errc::not_found;
  store::JobFinish end;
  end.change = {store::Status::failed, "Failed", "Training job failed: " + error.text,
                options_.now()};
  end.failure_reason = (theirs ? "ClientError: " : "InternalServerError: ") + error.text;
  return end;
}

/// An end that is not stored would be a job that runs again.
loop::Task<> Runner::finish(std::string name, store::JobFinish end) {
  // Nothing of the job needs it any more: who sees that the job has ended finds its key dead.
  keys_.revoke_owned(name);
  std::function<Result<void>()> work = [this, &name, &end]() -> Result<void> {
    const Result<bool> finished = store_.finish(name, end);
    return finished ? Result<void>() : finished.error();
  };
  co_await surely(name, std::move(work));
  reserve_.take();
}

/// Does the work, however often it fails: a full disk gets what is kept for that, then time.
loop::Task<> Runner::surely(std::string name, std::function<Result<void>()> work) {
  loop::Timer pause(loop_);
  bool told = false;
  while (true) {
    const Result<void> done = work();
    if (done) co_return;
    if (!told) complain(name + ": its end cannot be stored yet: " + done.error().text);
    told = true;
    if (!reserve_.give()) co_await pause.after(store_pause);
  }
}

}  // namespace muster::jobs
