#include "engine/cluster/slurm_run.h"

#include <utility>

#include "engine/cluster/slurm_engine.h"
#include "engine/upload.h"
#include "net/loop/worker.h"

namespace muster::cluster {

SlurmRun::SlurmRun(SlurmEngine& engine, std::shared_ptr<ClusterJob> job, bool whole)
    : engine_(engine), job_(std::move(job)), whole_(whole) {}

SlurmRun::~SlurmRun() {
  if (journals_) journals_->cancel();
}

Result<std::unique_ptr<engine::Run>> SlurmRun::follow(SlurmEngine& engine,
                                                      std::shared_ptr<ClusterJob> job, bool whole) {
  std::unique_ptr<SlurmRun> run(new SlurmRun(engine, std::move(job), whole));
  for (engine::Event& event : run->job_->present()) run->events_.push_back(std::move(event));
  run->told_ = run->job_->history().size();
  TRY(run->open_journals());
  return std::unique_ptr<engine::Run>(std::move(run));
}

Result<void> SlurmRun::open_journals() {
  std::vector<engine::Journals::Host> folders;
  if (whole_)
    for (const std::string& host : hosts())
      folders.push_back(
          {host, job_->path() + "/" + host, engine::chapter_of(job_->chapters(), host)});
  if (journals_) journals_->cancel();
  journals_ = TRY(engine::Journals::open(engine_.loop(), std::move(folders)));
  attempt_ = job_->attempt();
  return {};
}

loop::Task<Result<engine::Event>> SlurmRun::next_event() {
  const std::shared_ptr<ClusterJob> job = job_;
  while (events_.empty() && told_ == job->history().size()) {
    if (!whole_ || job->over()) co_return fail(Errc::closed, "all hosts have exited");
    co_await job->moved().wait();
  }
  if (events_.empty()) co_return job->history()[told_++];
  engine::Event event = std::move(events_.front());
  events_.pop_front();
  co_return event;
}

Result<engine::Records> SlurmRun::records(const std::string& host, std::uint64_t from) {
  if (attempt_ != job_->attempt()) TRY(open_journals());
  return journals_->records(host, from);
}

loop::Task<bool> SlurmRun::grown() {
  if (attempt_ != job_->attempt() && !open_journals()) co_return false;
  const std::shared_ptr<engine::Journals> journals = journals_;
  const bool grown = co_await journals->grown();
  co_return grown;
}

void SlurmRun::stop(const std::string& host, std::chrono::milliseconds grace) {
  job_->stop(host, grace);
}

void SlurmRun::destroy(const std::string& host) {
  job_->destroy(host);
}

loop::Task<Result<engine::Answer>> SlurmRun::ask(std::string host, engine::Question question) {
  for (const engine::Event& event : job_->present())
    if (event.host == host && engine::is_end(event.kind))
      co_return fail(Errc::closed, host + " is not running");
  const std::shared_ptr<AttemptLinks> links = job_->links();
  if (!links) co_return fail(Errc::closed, host + " is not running");
  Result<engine::Answer> answer = co_await links->ask(host, question);
  co_return answer;
}

void SlurmRun::note(const std::string& host, const std::vector<job::LogLine>& lines) {
  if (const std::shared_ptr<AttemptLinks> links = job_->links()) links->note(host, lines);
}

/// Slurm gives a job all its nodes at once.
loop::Task<Result<void>> SlurmRun::replace(std::vector<std::string> hosts) {
  if (hosts != job_->hosts())
    co_return fail(Errc::unsupported, "on a cluster, all hosts of a job must restart together");
  co_return co_await job_->again();
}

loop::Task<Result<std::string>> SlurmRun::upload(bool completed) {
  if (!uploaded()) {
    const Result<void> given = co_await job_->all_given();
    if (!given) co_return given.error();
  }
  engine::UploadProgram program{engine_.options().program, engine_.options().env};
  co_return co_await engine::upload(engine_.slurm().programs(), std::move(program), job_->path(),
                                    completed);
}

bool SlurmRun::uploaded() const {
  return engine::is_uploaded(job_->path());
}

loop::Task<Result<std::vector<engine::HostResult>>> SlurmRun::results() {
  const Result<void> given = co_await job_->all_given();
  if (!given) co_return given.error();
  std::vector<engine::HostResult> results;
  for (const std::string& host : hosts())
    results.push_back({host, job_->path() + "/" + host + "/result"});
  co_return results;
}

loop::Task<Result<std::string>> SlurmRun::release(bool keep) {
  const Result<void> let_go = co_await job_->let_go();
  if (!let_go) co_return let_go.error();
  std::optional<engine::JobFolder>& folder = job_->folder();
  if (!folder) co_return std::string();
  engine_.forget(job_->spec().name);
  const std::function<Result<void>()> unshare = [path = job_->path()] {
    return remove_shared(path);
  };
  const Result<void> unshared = co_await loop::in_thread(engine_.loop(), unshare);
  if (!unshared) co_return unshared.error();
  if (keep) {
    const Result<void> kept = folder->keep();
    folder.reset();
    if (!kept) co_return kept.error();
    co_return job_->path();
  }
  std::optional<engine::JobFolder> going = std::exchange(folder, std::nullopt);
  const Result<void> removed = co_await engine::remove_beside(engine_.loop(), *std::move(going));
  if (!removed) co_return removed.error();
  co_return std::string();
}

}  // namespace muster::cluster
