#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "job/outcome.h"
#include "job/spec.h"
#include "loop/loop.h"

namespace muster::engine {

/// Where a host's records and results lie.
struct HostPlace {
  std::string host;
  std::string folder;
  std::string journal() const { return folder + "/journal"; }
  std::string result() const { return folder + "/result"; }
};

/// The stewards of one job. Destroying it does not end them, unless they were started with a
/// lifeline, which goes with it.
class Run {
 public:
  struct Ended {
    std::string host;
    job::Outcome outcome;  ///< Of the steward, not of the host: that stands in the journal.
  };

  virtual ~Run() = default;
  /// In the job's order: the leader first.
  virtual const std::vector<HostPlace>& hosts() const = 0;
  /// False for a job of attach() whose start was cut short: hosts() are those that were started.
  virtual bool whole() const { return true; }
  /// The next steward that has ended; each comes once. Error: `closed` once all have come.
  virtual loop::Task<Result<Ended>> next_end() = 0;

  /// Asks the host's steward to stop it: SIGTERM, then SIGKILL after `grace`. Does not wait.
  virtual void stop(const std::string& host, std::chrono::milliseconds grace) = 0;
  /// The same without grace; the steward still keeps what the host leaves.
  void kill(const std::string& host) { stop(host, std::chrono::milliseconds(0)); }
  /// Kills the steward itself. What it had opened is removed by release().
  virtual void destroy(const std::string& host) = 0;

  /// After all have ended: stores what the hosts left where the job's spec says (S3). What was
  /// stored, as JSON (docs/protocols/steward.md); "{}" if nothing is asked for. Done again, by
  /// whoever comes later, it does nothing more. `completed`: the job did. Error: one line that
  /// names the object or the file.
  virtual loop::Task<Result<std::string>> upload(bool completed) = 0;

  /// After all have ended: removes what the job still has on the machine; with `keep` its folder
  /// stays for inspection. Takes as long as removing files takes.
  virtual loop::Task<Result<void>> release(bool keep) = 0;
  virtual std::string folder() const = 0;
};

/// Where stewards run.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Starts a steward for each host of the job. Errors: `invalid_input` for a name that is in use;
  /// `denied`, `system`; then nothing of the job is left.
  virtual Result<std::unique_ptr<Run>> start(const job::Spec& spec) = 0;
  /// Names of jobs that live.
  virtual std::vector<std::string> list() = 0;
  /// A job that another process started, or this one before it was restarted; its stewards may have
  /// ended meanwhile. Error: `not_found`.
  virtual Result<std::unique_ptr<Run>> attach(const std::string& job) = 0;
};

}  // namespace muster::engine
