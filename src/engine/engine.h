#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "job/outcome/outcome.h"
#include "job/spec.h"
#include "job/wire/journal.h"
#include "job/wire/stacks.h"
#include "job/wire/usage.h"
#include "net/loop/loop.h"

namespace muster::engine {

/// Something that happened to a host.
struct Event {
  enum class Kind {
    queued,     ///< The host waits to be started; `text`: for what. Comes again when that changes.
    started,    ///< The host's steward runs: `node`, `address`.
    health,     ///< `text`: what is wrong with its node; empty: nothing any more.
    ended,      ///< The host's steward has ended: `outcome`; `text`: who else had it stopped.
    lost,       ///< Nothing is heard of it any more; `text`: why, as far as that is known.
    preempted,  ///< The host's node was taken away; `text`: for whom, or by which rule.
  };
  Kind kind = Kind::queued;
  std::string host{};
  int attempt = 1;          ///< The host's: 1, 2, ...; see Run::replace().
  UnixMillis time{0};       ///< When it happened; for `lost`, when the host was last heard of.
  std::string text{};       ///< One line of the engine's.
  std::string node{};       ///< The name of the machine that the host is on.
  std::string address{};    ///< Where the job's other hosts reach it.
  job::Outcome outcome{};   ///< The steward's end, not the host's, which is in the journal. Success
                            ///< if the engine cannot know it, after attach(); is_stopped() if
                            ///< another user removed the job from its scheduler.
  bool time_limit = false;  ///< `ended`: at a time limit of the scheduler's; `outcome` says so.
};

/// True for the three kinds of events that end a host's attempt.
constexpr bool is_end(Event::Kind kind) {
  return kind >= Event::Kind::ended;
}

/// A part of a host's journal.
struct Records {
  std::vector<job::Record> records;  ///< In order, without a gap; about a MiB at most.
  bool more = false;                 ///< There may be more at once, or an error.
};

/// Questions to a host while it runs, and their answers.
enum class Question {
  usage,          ///< -> Usage
  viewed_usage,   ///< -> Usage, for somebody who looks: also the traffic of GPUs
  stacks,         ///< -> job::HostStacks, as job::Calls::python
  native_stacks,  ///< -> job::HostStacks, as job::Calls::native
  moves,          ///< -> job::HostStacks, as job::Calls::moves
  alive,          ///< -> Alive, however long that takes while the host runs
};
constexpr bool is_of_usage(Question question) {
  return question == Question::usage || question == Question::viewed_usage;
}
/// The steward itself has answered.
struct Alive {};
using job::HostUsage;
using job::Usage;
/// The calls that a question stands for, and the reverse.
constexpr job::Calls calls_of(Question question) {
  return question == Question::native_stacks ? job::Calls::native
         : question == Question::moves       ? job::Calls::moves
                                             : job::Calls::python;
}
constexpr Question question_about(job::Calls calls) {
  return calls == job::Calls::native  ? Question::native_stacks
         : calls == job::Calls::moves ? Question::moves
                                      : Question::stacks;
}
using Answer = std::variant<Usage, job::HostStacks, Alive>;

/// The results of a host: `model/` and `output/` from its /opt/ml, below `path`. The receiver may
/// modify them.
struct HostResult {
  std::string host;
  std::string path;
};

/// The results of a job's earlier attempts, as far as they decide whether there is another one.
struct Tally {
  int lost = 0;  ///< Attempts that lost a machine.
  int idle = 0;  ///< Latest attempts one after the other that got nowhere.

  bool operator==(const Tally&) const = default;
};

/// The hosts of one job, each with its steward. Destroying a Run ends nothing, unless the engine
/// was configured to end jobs with it; tasks that wait on it then get no more results.
class Run {
 public:
  virtual ~Run() = default;
  /// Names in the job's order: the leader first.
  virtual const std::vector<std::string>& hosts() const = 0;
  /// False for a job of attach() whose start was cut short: hosts() are those that may have been
  /// started. It can be destroyed and released, and nothing else.
  virtual bool whole() const { return true; }

  /// The next event. Each event is returned once; for an attempt of a host in this order: any
  /// number of `queued`, at most one `started`, any number of `health`, exactly one end. A Run from
  /// attach() begins with the state at that moment. One waiter at a time. Error: `closed` once the
  /// ends of all hosts have been returned.
  virtual loop::Task<Result<Event>> next_event() = 0;

  /// The journal records of the host's latest attempt, from number `from` >= 1 on, as far as they
  /// are on this machine by now; having no records is not an error. Cheapest when continued where
  /// the last call ended. Valid until release(). When the end of an attempt is reported, all its
  /// records are here. Errors: `not_found` for a host that is not of the job; `protocol` for a
  /// damaged journal, after all readable records; `system`.
  virtual Result<Records> records(const std::string& host, std::uint64_t from) = 0;
  /// Waits until a journal may have grown since the last call. One waiter at a time. False once the
  /// Run is gone.
  virtual loop::Task<bool> grown() = 0;

  /// Asks the host's steward to stop it: SIGTERM, then SIGKILL after `grace`; a queued host is
  /// taken out of the queue and ends. Does not wait; does nothing for a host that has ended.
  virtual void stop(const std::string& host, std::chrono::milliseconds grace) = 0;
  /// Stops the host without grace; the steward still keeps what the host leaves.
  void kill(const std::string& host) { stop(host, std::chrono::milliseconds(0)); }
  /// Kills the steward itself. What it had opened is removed by release().
  virtual void destroy(const std::string& host) = 0;

  /// Asks a running host's steward. Errors: `unsupported`; `closed` for a host that does not run;
  /// `timeout`.
  virtual loop::Task<Result<Answer>> ask(std::string host, Question question) = 0;

  /// Has the host's steward write lines into the host's journal, as muster's own. Does not wait;
  /// does nothing if the host is not running, or its steward cannot do this.
  virtual void note(const std::string& host, const std::vector<job::LogLine>& lines) = 0;

  /// Restarts hosts that have ended, each as its next attempt, with a journal that starts at record
  /// 1. All hosts: the job's next attempt. Results of an earlier attempt do not count. Errors:
  /// `unsupported`; `invalid_input` for a host that has not ended.
  virtual loop::Task<Result<void>> replace(std::vector<std::string> hosts) = 0;

  /// Marks the host's machine as broken: the next replace() avoids it, or fails if there is no
  /// other.
  virtual void set_broken(const std::string& host) { static_cast<void>(host); }
  /// Stored by the next replace() of all hosts; a later attach() returns it.
  virtual void set_tally(Tally) {}
  virtual Tally tally() const { return {}; }

  /// After all have ended: stores the results of the hosts where the job's spec says (S3). Returns
  /// JSON that lists what was stored (docs/protocols/steward.md); "{}" if the job has no such
  /// place; {"no_room": WHY} if there is no space now, and a later try may work. Repeating it, even
  /// from another process, does nothing more. `completed`: whether the job completed. Error: one
  /// line that names the object or the file.
  virtual loop::Task<Result<std::string>> upload(bool completed) = 0;
  /// True once upload() has succeeded, in any process.
  virtual bool uploaded() const = 0;
  /// After all have ended: returns the hosts' results, on this machine; fetches results from other
  /// machines first. Errors: `system`, `closed` if they are no longer available.
  virtual loop::Task<Result<std::vector<HostResult>>> results() = 0;

  /// After all have ended: removes what is left of the job. With `keep` it stays for inspection,
  /// and the name stays in use; the answer then tells the user where, and is empty otherwise. May
  /// be called again. Takes as long as removing the files does. Error: `denied` while a process of
  /// the job lives; `system`.
  virtual loop::Task<Result<std::string>> release(bool keep) = 0;
};

/// Where stewards run.
class Engine {
 public:
  virtual ~Engine() = default;
  /// Starts or queues the job's hosts. May take long if it asks other machines; if the task is
  /// destroyed meanwhile, the start is cut short. Errors: `invalid_input` for a name that is in
  /// use, or for a job that the engine can never run; `denied`, `system`. After an error nothing of
  /// the job is left.
  virtual loop::Task<Result<std::unique_ptr<Run>>> start(job::Spec spec) = 0;
  /// A job that another process started, or this one before a restart; its hosts may have ended.
  /// Errors: `not_found`; `system` if this cannot be determined now.
  virtual loop::Task<Result<std::unique_ptr<Run>>> attach(std::string job) = 0;
  /// The names in use, sorted: jobs that were started here and have not been released, or were
  /// kept. Reads only the engine's notes.
  virtual std::vector<std::string> list() const = 0;
  /// The file on this machine with the records of a host's attempts, as Run::records() returns
  /// them; it may not exist yet. For callers that read a log later, or keep it. The job must be in
  /// list().
  virtual std::string journal_file(const std::string& job, const std::string& host) const = 0;
  /// True if an external scheduler decides when a host starts: submit every job at once. False:
  /// hosts start immediately, so the caller must check that there is capacity.
  virtual bool schedules() const = 0;
};

}  // namespace muster::engine
