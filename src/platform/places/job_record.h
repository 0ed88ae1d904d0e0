#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/json.h"
#include "net/loop/tasks.h"
#include "net/sockets/unix.h"
#include "platform/job_run.h"
#include "platform/places/job_description.h"

namespace muster::places {

/// What others may ask of the process that carries a job.
struct CarrierCalls {
  /// Called when a stop is asked for. True: it was before, and the job is killed now.
  std::function<bool()> stop;
  std::function<platform::Requests::Look()>
      look;  ///< The stacks of the job's processes, as Requests.
  /// What the job's hosts use, as Requests.
  std::function<platform::UsageWatch*()> usage{};
};

/// The record by which other processes find a job of `sm fit` while it runs and afterwards:
/// `<state>/records/<job>`, mode 0700 (docs/protocols/job-record.md). The process that runs the job
/// holds this object; the lock on the record's `lock` shows that it is alive.
class JobRecord {
 public:
  /// Creates it under a hidden name; removes earlier jobs' records beyond the limits. Error:
  /// `denied`, `system`.
  static Result<std::unique_ptr<JobRecord>> prepare(loop::Loop& loop, const std::string& state,
                                                    Json description, CarrierCalls calls);
  JobRecord(const JobRecord&) = delete;
  JobRecord& operator=(const JobRecord&) = delete;
  ~JobRecord();

  /// Gives it the job's name, which the engine has found to be free; the record of an ended job of
  /// that name makes way. Without it nothing is left. Error: `system`.
  Result<void> publish(const std::string& name);

  // Errors here are not reported: the job continues, and only its record is late.
  void take(const platform::StatusLine& line);
  void take(const std::optional<platform::Standstill>& what);
  /// Takes where the host is next to its GPUs; other lines mean nothing here. The next status
  /// writes it.
  void take(const std::string& host, const job::LogLine& line) {
    add_log(description_, host, line);
  }
  /// Sets MusterSlurm; written with the next status.
  void set_slurm(Json in_slurm) { description_["MusterSlurm"] = std::move(in_slurm); }
  /// Keeps the host's journal, which may not be there yet, also when the job's folder is gone.
  void keep_journal(const std::string& host, const std::string& journal_file);
  /// A log beyond what is kept of all jobs is not kept. `metrics`: the FinalMetricDataList; null:
  /// it defines none.
  void end(const platform::JobReport& report, int exit_code, const Json& metrics);

  /// For what the carrier itself says when it has no terminal.
  std::string carrier_log() const { return path_ + "/carrier.log"; }
  const Json& description() const { return description_; }

 private:
  JobRecord(loop::Loop& loop, std::string path, Fd lock, Json description, CarrierCalls calls);
  loop::Task<> accept_all();
  loop::Task<> serve(std::unique_ptr<loop::UnixChannel> peer);
  loop::Task<> tell_stacks(loop::UnixChannel& peer, job::Calls calls);
  loop::Task<> tell_usage(loop::UnixChannel& peer);
  Result<void> write() const;

  std::string path_;
  Fd lock_;
  Json description_;
  CarrierCalls calls_;
  bool published_ = false;
  std::unique_ptr<loop::UnixListener> listener_;
  loop::Tasks tasks_;
};

/// A job of this machine, from its record.
struct FoundJob {
  std::string name;
  std::string folder;  ///< The record's.
  Json description;    ///< Failed and lost, if the carrier was killed.
  bool living = false;

  /// The host's; may not be there.
  std::string journal(const std::string& host) const { return folder + "/" + host + ".journal"; }
};

/// Errors: `not_found`; `denied`: the records are root's.
Result<FoundJob> find_job(const std::string& state, const std::string& name);
/// Finds the same job as it is now. Error: `not_found`: its record has been removed, or a later job
/// has its name.
Result<FoundJob> find_again(const std::string& state, const FoundJob& job);
/// All that there are, the newest first. Error: `denied`.
Result<std::vector<FoundJob>> find_jobs(const std::string& state);
/// Asks the carrier to stop the job. True: it was asked before, so it kills the job now. Error:
/// `closed` for one that has ended; `system`.
loop::Task<Result<bool>> ask_to_stop(loop::Loop& loop, FoundJob job);
/// Asks the process that runs the job for its stacks. Errors: `closed` if its hosts are not
/// running; `timeout`; `protocol`.
loop::Task<Result<std::vector<job::HostStacks>>> ask_for_stacks(loop::Loop& loop, FoundJob job,
                                                                job::Calls calls);
/// Asks the process that runs the job what its hosts use; none while no host runs. Errors: `closed`
/// for a job that has ended; `timeout`; `protocol`.
loop::Task<Result<std::vector<job::HostUsage>>> ask_for_usage(loop::Loop& loop, FoundJob job);
/// Waits until the job's carrier has ended, however.
loop::Task<Result<void>> wait_for_end(loop::Loop& loop, FoundJob job);
/// Removes the record of a job, with its log. Errors: `invalid_input`: it has not ended; `system`.
Result<void> forget_job(const FoundJob& job);
/// Removes the records of jobs that have ended: their names, sorted.
Result<std::vector<std::string>> forget_ended(const std::string& state);

/// What is kept of jobs that have ended.
struct RecordLimits {
  std::size_t jobs_max = 100;
  std::uint64_t log_bytes_max = 1u << 30;  ///< All together.
};
struct RecordSize {
  std::string name;
  UnixMillis time{0};  ///< When it was changed last.
  std::uint64_t log_bytes = 0;
};
/// The records that go: all but the newest that keep within the limits. Pure.
std::vector<std::string> beyond(std::vector<RecordSize> records, const RecordLimits& limits);

}  // namespace muster::places
