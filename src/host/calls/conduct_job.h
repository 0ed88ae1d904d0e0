#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "host/calls/conduct.h"
#include "host/calls/intermediate.h"

namespace muster::calls {

/// What a host needs to take part in a job.
struct JobStart {
  env::TrainOptions options;
  job::Training training;
  std::optional<int> steward_fd;
  std::string key;      ///< The job's; empty for a job of one host.
  bool socket = false;  ///< Ranks or operators may connect.
  Env env;              ///< The process's environment, with the credentials for S3.
};

/// The files that are uploaded to S3 while the job runs.
Intermediate::Options intermediate_options(const job::Training& training);

/// How a job ended.
struct JobEnd {
  job::Verdict verdict;             ///< The job's.
  std::optional<job::Verdict> own;  ///< How this host's work ended, if it has ended.
};

/// Where the host's work is prepared: it may run programs and show their lines.
struct Workshop {
  loop::Loop& loop;
  ranks::HostRun& host_run;
  Output& output;
};
using Prepare = std::function<loop::Task<Prepared>(Workshop& workshop)>;

/// The stream of this host's steward; none without a steward. It is close-on-exec, so that the
/// user's programs do not inherit it. Error: `invalid_input`.
Result<std::optional<int>> steward_stream(const Env& env);
/// The key, for a job of several hosts; logs its warning. Errors: as job_key().
Result<std::string> key_for(const job::Training& training, const Env& env, const Log& log);

/// Runs this host's part of the job to its end: roll call, work, verdict. SIGTERM and SIGINT stop
/// the job. Returns on every host with the job's verdict.
JobEnd conduct_job(const JobStart& start, const Prepare& prepare, const Log& log);

}  // namespace muster::calls
