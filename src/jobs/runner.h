#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "access/keyring.h"
#include "jobs/job_config.h"
#include "jobs/job_spec.h"
#include "jobs/jobs.h"
#include "jobs/outside_s3.h"
#include "jobs/reserve.h"
#include "jobs/schedule.h"
#include "logs/logs.h"
#include "logs/metrics.h"
#include "machine/machine.h"
#include "platform/job_run.h"
#include "store/store.h"

namespace muster::jobs {

/// Runs the store's jobs on this machine: each in its turn, from its stewards' start to its last
/// file, and takes up again what an earlier server left. Belongs to the main loop.
///
/// A job outlives the server: its stewards go on, their journals stand in <data>/machine, and
/// start() reads them again from their beginning. What the store knows already is not told twice.
class Runner final : public Jobs {
 public:
  struct Options {
    JobConfig config;
    std::string data;      ///< The server's folder, absolute.
    std::string endpoint;  ///< Where stewards and hosts reach this server.
    std::string ca_file;   ///< Whom hosts trust that call S3; empty: no TLS.
    std::string region;
    std::vector<std::string> hidden;  ///< What hosts must not see besides `data`.
    Env env;                          ///< PATH finds programs.
    std::function<UnixMillis()> now;
    std::function<store::AccessKey()> fresh_key;
    std::optional<OutsideS3> s3;  ///< None: the server's own, at `endpoint`.
    /// A small object of S3. Error: `not_found`, `system`.
    std::function<loop::Task<Result<std::string>>(s3wire::S3Url url)> read_object;
  };
  /// All but `options` outlive this.
  Runner(loop::Loop& loop, store::Store& store, logs::Logs& logs, logs::Metrics& metrics,
         access::KeyRing& keys, Options options);

  /// Takes up the jobs that have not ended.
  Result<void> start();

  std::optional<api::Refusal> refuses(const Json& request) const override;
  void submitted(const std::string& name) override;
  void stop(const std::string& name) override;
  void deleted(const std::string& name) override;

  /// Of a host's journal, while the job runs and when it has ended.
  std::string journal_of(const std::string& job, const std::string& host) const;

 private:
  class Watcher;
  struct Running {
    explicit Running(loop::Loop& loop) : requests(loop) {}
    Demand demand;
    platform::Requests requests;
  };

  Result<void> take_up(const std::string& name);
  loop::Task<> clean_up();
  void schedule();
  loop::Task<> carry(std::string name, bool resumed);
  loop::Task<Result<void>> run(std::string name, bool resumed);
  loop::Task<Result<job::Spec>> specify(store::Job job);
  loop::Task<> replace_drivers(const Json& request, job::Spec& spec) const;
  Result<void> lead_to_s3(const store::Job& job, const Json& request, JobPlaces& places);
  Result<void> lead_to_outside(JobPlaces& places) const;
  Result<aws::Credentials> key_of(const store::Job& job, const Json& request);
  Result<void> admit(const store::AccessKey& key, const Json& request);
  Result<Json> request_of(const std::string& name) const;
  Result<void> keep_journals(const std::string& name) const;
  store::JobFinish failure(const Error& error) const;
  loop::Task<> finish(std::string name, store::JobFinish end);
  loop::Task<> surely(std::string name, std::function<Result<void>()> work);
  /// What stewards are started from: stays there when `sm` is replaced under a running server.
  static std::string kept_program(const std::string& folder);
  std::string credentials_file(const std::string& name) const;

  loop::Loop& loop_;
  store::Store& store_;
  logs::Logs& logs_;
  logs::Metrics& metrics_;
  access::KeyRing& keys_;
  Options options_;
  machine::Machine machine_;
  Reserve reserve_;
  std::vector<Demand> waiting_;  ///< In order of submission.
  std::map<std::string, std::unique_ptr<Running>> running_;
};

/// How a job's end stands in the store. Pure.
store::JobFinish finish_of(const platform::JobReport& report);

}  // namespace muster::jobs
