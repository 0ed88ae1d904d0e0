#include "engine/fake.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "job/outcome/lines.h"

namespace muster::engine {
namespace {

constexpr std::size_t records_bytes_max = 1u << 20;

}  // namespace

FakeHost& FakeHost::waits(const std::string& reason) {
  queued_ = {.kind = Event::Kind::queued, .host = name_, .text = reason};
  tell(*queued_);
  return *this;
}

FakeHost& FakeHost::starts(const std::string& node) {
  started_ = {.kind = Event::Kind::started,
              .host = name_,
              .node = node,
              .address = "10.0.0." + name_.substr(name_.rfind('-') + 1)};
  tell(*started_);
  return *this;
}

FakeHost& FakeHost::reports_health(const std::string& what) {
  health_ = {.kind = Event::Kind::health, .host = name_, .text = what};
  tell(*health_);
  return *this;
}

FakeHost& FakeHost::ends(job::Outcome outcome) {
  if (!started_ && !queued_) starts();
  end_ = {.kind = Event::Kind::ended, .host = name_, .outcome = std::move(outcome)};
  tell(*end_);
  return *this;
}

FakeHost& FakeHost::lost(const std::string& why, Duration before) {
  end_ = {.kind = Event::Kind::lost, .host = name_, .text = why};
  tell(*end_);
  end_->time -= std::chrono::duration_cast<UnixMillis>(before);
  job_.history.back().time = end_->time;
  return *this;
}

FakeHost& FakeHost::preempted(const std::string& why) {
  end_ = {.kind = Event::Kind::preempted, .host = name_, .text = why};
  tell(*end_);
  return *this;
}

void FakeHost::tell(Event& event) {
  event.attempt = attempt_;
  event.time = job_.cluster.wall();
  job_.history.push_back(event);
  job_.moved.notify();
}

void FakeHost::begin(bool queues) {
  if (queued_ || started_ || end_) return;  // The test has done it.
  if (queues)
    waits("Resources");
  else
    starts();
}

void FakeHost::begin_again(bool queues) {
  ++attempt_;
  for (std::optional<Event>* each : {&queued_, &started_, &health_, &end_}) each->reset();
  journal_.clear();
  damaged_ = false;
  files_.clear();
  begin(queues);
}

void FakeHost::stop(Duration grace) {
  if (end_) return;
  if (!started_) {
    ends(job::Outcome::stopped(SIGTERM));
    return;
  }
  if (manner == Manner::deaf) return;
  if (manner == Manner::stubborn && grace > Duration(0)) {
    job_.cluster.after(grace, [this] { stop(Duration(0)); });
    return;
  }
  const int signal = grace > Duration(0) ? SIGTERM : SIGKILL;
  outcome(job::Outcome::signaled(signal), true).phase(job::Phase::stopped).ends();
}

std::vector<Event> FakeHost::present() const {
  std::vector<Event> events;
  if (queued_ && !started_ && !end_) events.push_back(*queued_);
  for (const std::optional<Event>* each : {&started_, &health_, &end_})
    if (*each) events.push_back(**each);
  return events;
}

FakeHost& FakeHost::record(job::Message kind, const std::string& payload) {
  journal_.push_back({journal_.size() + 1, job_.cluster.wall(), kind, payload});
  ++job_.growth;
  job_.moved.notify();
  return *this;
}

FakeHost& FakeHost::phase(job::Phase phase) {
  return record(job::Message::phase, encode(job::PhaseChange{phase, ""}));
}

FakeHost& FakeHost::says(int rank, const std::string& text) {
  return record(job::Message::lines, encode(job::Lines{rank, job::Stream::out, false, text}));
}

FakeHost& FakeHost::verdict(const job::Verdict& verdict) {
  return record(job::Message::verdict, to_text(job::to_json(verdict)));
}

FakeHost& FakeHost::outcome(job::Outcome outcome, bool stopped) {
  phase(job::Phase::uploading);
  return record(job::Message::outcome,
                encode(job::HostEnd{name_, std::move(outcome), false, stopped}));
}

FakeHost& FakeHost::damage() {
  damaged_ = true;
  ++job_.growth;
  job_.moved.notify();
  return *this;
}

FakeHost& FakeHost::leaves(const std::string& path, const std::string& text) {
  files_[path] = text;
  return *this;
}

FakeJob::FakeJob(FakeCluster& of, loop::Loop& loop, job::Spec what)
    : cluster(of), spec(std::move(what)), names(job::host_names(spec.instance_count)), moved(loop) {
  for (const std::string& name : names) hosts.emplace(name, FakeHost(*this, name));
}

FakeJob::~FakeJob() {
  if (!folder.empty()) static_cast<void>(remove_tree(folder));
}

bool FakeJob::over() const {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const auto& each) { return each.second.over(); });
}

FakeJob& FakeCluster::job(const job::Spec& spec) {
  std::shared_ptr<FakeJob>& job = jobs_[spec.name];
  if (!job) job = std::make_shared<FakeJob>(*this, loop_, spec);
  return *job;
}

UnixMillis FakeCluster::wall() const {
  return std::chrono::duration_cast<UnixMillis>(now_) + std::chrono::seconds(1);
}

void FakeCluster::after(Duration time, std::function<void()> what) {
  due_.emplace(now_ + time, std::move(what));
}

void FakeCluster::pass(Duration time) {
  const Duration until = now_ + time;
  while (!due_.empty() && due_.begin()->first <= until) {
    now_ = due_.begin()->first;
    const std::function<void()> what = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    what();
  }
  now_ = until;
  moved_.notify();
}

/// One who follows a job of the cluster.
class FakeRun final : public Run {
 public:
  FakeRun(FakeCluster& cluster, std::shared_ptr<FakeJob> job, bool from_now)
      : cluster_(cluster), job_(std::move(job)), told_(std::make_shared<Told>()) {
    if (!from_now) return;
    for (const std::string& name : job_->names)
      for (Event& event : job_->host(name).present()) told_->first.push_back(std::move(event));
    told_->at = job_->history.size();
  }
  FakeRun(const FakeRun&) = delete;
  FakeRun& operator=(const FakeRun&) = delete;
  ~FakeRun() override {
    told_->gone = true;
    job_->moved.notify();
  }

  const std::vector<std::string>& hosts() const override { return job_->names; }
  bool whole() const override { return job_->whole; }
  loop::Task<Result<Event>> next_event() override;
  Result<Records> records(const std::string& host, std::uint64_t from) override;
  loop::Task<bool> grown() override;
  void stop(const std::string& host, std::chrono::milliseconds grace) override;
  void destroy(const std::string& host) override;
  loop::Task<Result<Answer>> ask(std::string host, Question question) override;
  void note(const std::string& host, const std::vector<job::LogLine>& lines) override;
  loop::Task<Result<void>> replace(std::vector<std::string> hosts) override;
  loop::Task<Result<std::string>> upload(bool completed) override;
  bool uploaded() const override { return job_->uploaded; }
  void set_broken(const std::string& /*host*/) override { has_broken_card_ = true; }
  void set_tally(Tally tally) override { next_tally_ = tally; }
  Tally tally() const override { return job_->tally; }
  loop::Task<Result<std::vector<HostResult>>> results() override;
  loop::Task<Result<std::string>> release(bool keep) override;

 private:
  /// How far this one has heard; outlives it while somebody waits.
  struct Told {
    std::deque<Event> first;  ///< Comes before the history.
    std::size_t at = 0;
    std::uint64_t growth = 0;
    bool gone = false;
  };
  Result<void> write_files(const FakeHost& host) const;

  FakeCluster& cluster_;
  std::shared_ptr<FakeJob> job_;
  std::shared_ptr<Told> told_;
  Tally next_tally_;
  bool has_broken_card_ = false;
};

loop::Task<Result<Event>> FakeRun::next_event() {
  const std::shared_ptr<FakeJob> job = job_;
  const std::shared_ptr<Told> told = told_;
  while (told->first.empty() && told->at == job->history.size()) {
    if (told->gone || job->over() || !job->whole)
      co_return fail(Errc::closed, "all hosts have exited");
    co_await job->moved.wait();
  }
  if (told->first.empty()) co_return job->history[told->at++];
  Event next = std::move(told->first.front());
  told->first.pop_front();
  co_return next;
}

Result<Records> FakeRun::records(const std::string& host, std::uint64_t from) {
  const auto found = job_->hosts.find(host);
  if (found == job_->hosts.end()) return fail(Errc::not_found, "no host " + host);
  const std::vector<job::Record>& journal = found->second.journal_;
  Records got;
  std::size_t bytes = 0;
  for (std::size_t at = from - 1; at < journal.size() && bytes < records_bytes_max; ++at) {
    bytes += job::record_header_bytes + journal[at].payload.size();
    got.records.push_back(journal[at]);
  }
  const bool all = from - 1 + got.records.size() >= journal.size();
  got.more = !all || (found->second.damaged_ && !got.records.empty());
  if (got.records.empty() && found->second.damaged_)
    return fail(Errc::protocol, "journal of " + host + ": wrong checksum");
  return got;
}

loop::Task<bool> FakeRun::grown() {
  const std::shared_ptr<FakeJob> job = job_;
  const std::shared_ptr<Told> told = told_;
  while (!told->gone && told->growth == job->growth) co_await job->moved.wait();
  told->growth = job->growth;
  co_return !told->gone;
}

void FakeRun::stop(const std::string& host, std::chrono::milliseconds grace) {
  job_->asked += host + " " + std::to_string(grace.count()) + ";";
  if (job_->on_stop)
    job_->on_stop(host, grace);
  else
    job_->host(host).stop(grace);
}

void FakeRun::destroy(const std::string& host) {
  job_->asked += "destroy " + host + ";";
  if (!job_->host(host).over()) job_->host(host).ends(job::Outcome::signaled(SIGKILL));
}

loop::Task<Result<Answer>> FakeRun::ask(std::string host, Question question) {
  FakeHost& asked = job_->host(host);
  if (!asked.started() || asked.over()) co_return fail(Errc::closed, host + " is not running");
  if (question == Question::alive) {
    while (asked.is_silent) co_await job_->moved.wait();
    co_return Answer(Alive{});
  }
  if (question == Question::viewed_usage) ++asked.viewed;
  if (is_of_usage(question) && asked.usage) co_return Answer(*asked.usage);
  if (!is_of_usage(question) && asked.stacks) co_return Answer(*asked.stacks);
  co_return fail(Errc::unsupported, host + " does not know that");
}

void FakeRun::note(const std::string& host, const std::vector<job::LogLine>& lines) {
  for (const job::LogLine& line : lines) job_->asked += "note " + host + " " + line.text + ";";
}

loop::Task<Result<void>> FakeRun::replace(std::vector<std::string> hosts) {
  for (const std::string& name : hosts)
    if (!job_->host(name).over()) co_return fail(Errc::invalid_input, name + " is still running");
  if (has_broken_card_ && !cluster_.queues)
    co_return fail(Errc::unsupported, "the only machine has a broken GPU");
  for (const std::string& name : hosts) job_->host(name).begin_again(cluster_.queues);
  if (hosts == job_->names) job_->tally = next_tally_;
  co_return Result<void>();
}

loop::Task<Result<std::string>> FakeRun::upload(bool completed) {
  job_->asked += completed ? "upload completed;" : "upload;";
  if (job_->upload_error) co_return *job_->upload_error;
  if (job_->no_room > 0) {
    --job_->no_room;
    co_return std::string(R"({"no_room": "the disk is full"})");
  }
  job_->uploaded = true;
  co_return std::string("{}");
}

Result<void> FakeRun::write_files(const FakeHost& host) const {
  for (const auto& [path, text] : host.files_) {
    const std::string file = job_->folder + "/" + host.name_ + "/" + path;
    TRY(make_folders(file.substr(0, file.rfind('/'))));
    TRY(write_file(file, text));
  }
  return {};
}

loop::Task<Result<std::vector<HostResult>>> FakeRun::results() {
  if (job_->folder.empty()) {
    Result<std::string> made = make_private_folder("/tmp", "muster-fake-");
    if (!made) co_return made.error();
    job_->folder = *std::move(made);
  }
  std::vector<HostResult> results;
  for (const std::string& name : job_->names) {
    results.push_back({name, job_->folder + "/" + name});
    const Result<void> written = write_files(job_->host(name));
    if (!written) co_return written.error();
  }
  co_return results;
}

loop::Task<Result<std::string>> FakeRun::release(bool keep) {
  if (!job_->over()) co_return fail(Errc::denied, job_->spec.name + " runs");
  if (job_->release_error) co_return *job_->release_error;
  job_->kept = keep;
  if (keep) co_return "the fake job " + job_->spec.name;
  if (!job_->folder.empty()) static_cast<void>(remove_tree(job_->folder));
  const auto found = cluster_.jobs_.find(job_->spec.name);
  if (found != cluster_.jobs_.end() && found->second == job_) cluster_.jobs_.erase(found);
  co_return std::string();
}

loop::Task<Result<std::unique_ptr<Run>>> FakeEngine::start(job::Spec spec) {
  const Result<void> checked = job::check(spec);
  if (!checked) co_return checked.error();
  if (cluster_.has(spec.name) && cluster_.job(spec.name).begun)
    co_return fail(Errc::invalid_input, "a job named " + spec.name + " is here already");
  if (cluster_.full_disk) co_return fail(Errc::system, "No space left on device");
  cluster_.job(spec).begun = true;
  const std::shared_ptr<FakeJob> job = cluster_.jobs_.at(spec.name);
  const Duration due = cluster_.now_ + cluster_.start_takes;
  while (cluster_.now_ < due) co_await cluster_.moved_.wait();
  job->whole = true;
  for (const std::string& name : job->names) job->host(name).begin(cluster_.queues);
  co_return std::unique_ptr<Run>(std::make_unique<FakeRun>(cluster_, job, false));
}

loop::Task<Result<std::unique_ptr<Run>>> FakeEngine::attach(std::string job) {
  const auto found = cluster_.jobs_.find(job);
  if (found == cluster_.jobs_.end() || !found->second->begun)
    co_return fail(Errc::not_found, "no job named " + job);
  co_return std::unique_ptr<Run>(std::make_unique<FakeRun>(cluster_, found->second, true));
}

std::vector<std::string> FakeEngine::list() const {
  std::vector<std::string> names;
  for (const auto& [name, job] : cluster_.jobs_)
    if (job->begun) names.push_back(name);
  return names;
}

std::string FakeEngine::journal_file(const std::string& job, const std::string& host) const {
  return cluster_.journals.empty() ? "" : cluster_.journals + "/" + job + "-" + host;
}

}  // namespace muster::engine
