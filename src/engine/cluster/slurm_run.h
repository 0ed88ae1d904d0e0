#pragma once

// Inside cluster/ only.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/cluster/cluster_job.h"
#include "engine/engine.h"
#include "engine/journals.h"

namespace muster::cluster {

/// Follows a job of a SlurmEngine.
class SlurmRun final : public engine::Run {
 public:
  /// Error: of Journals::open().
  static Result<std::unique_ptr<engine::Run>> follow(SlurmEngine& engine,
                                                     std::shared_ptr<ClusterJob> job, bool whole);
  ~SlurmRun() override;

  const std::vector<std::string>& hosts() const override { return job_->hosts(); }
  bool whole() const override { return whole_; }
  loop::Task<Result<engine::Event>> next_event() override;
  Result<engine::Records> records(const std::string& host, std::uint64_t from) override;
  loop::Task<bool> grown() override;
  void stop(const std::string& host, std::chrono::milliseconds grace) override;
  void destroy(const std::string& host) override;
  loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question question) override;
  void note(const std::string& host, const std::vector<job::LogLine>& lines) override;
  loop::Task<Result<void>> replace(std::vector<std::string> hosts) override;
  void set_broken(const std::string& host) override { job_->set_broken(host); }
  void set_tally(engine::Tally tally) override { job_->set_tally(tally); }
  engine::Tally tally() const override { return job_->tally(); }
  loop::Task<Result<std::string>> upload(bool completed) override;
  bool uploaded() const override;
  loop::Task<Result<std::vector<engine::HostResult>>> results() override;
  loop::Task<Result<std::string>> release(bool keep) override;

 private:
  SlurmRun(SlurmEngine& engine, std::shared_ptr<ClusterJob> job, bool whole);

  Result<void> open_journals();

  SlurmEngine& engine_;
  std::shared_ptr<ClusterJob> job_;
  bool whole_;
  std::deque<engine::Event>
      events_;  ///< Events not yet reported, before the job's history from `told_` on.
  std::size_t told_ = 0;
  int attempt_ = 0;                             ///< The one whose journals these are.
  std::shared_ptr<engine::Journals> journals_;  ///< Shared with tasks that wait for one to grow.
};

}  // namespace muster::cluster
