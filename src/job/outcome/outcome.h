#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace muster::job {

/// How a process or a host ended. A failed workload is data; it is not an Error.
struct Outcome {
  enum class Kind {
    exited,    ///< Exited; `number` is the exit code.
    signaled,  ///< Killed; `number` is the signal.
    lost,      ///< A host that is not heard any more; `text` says how that was noticed.
    failed,    ///< Could not be run, or gave up; `text` is the one line that says why.
  };
  Kind kind = Kind::exited;
  int number = 0;
  std::string text;

  static Outcome exited(int code) { return {Kind::exited, code, {}}; }
  static Outcome signaled(int signal) { return {Kind::signaled, signal, {}}; }
  static Outcome lost(std::string how) { return {Kind::lost, 0, std::move(how)}; }
  static Outcome failed(std::string why) { return {Kind::failed, 1, std::move(why)}; }

  /// The end of a job that was stopped on request, by that signal.
  static Outcome stopped(int signal) { return {Kind::signaled, signal, "stopped on request"}; }

  bool is_stopped() const { return *this == stopped(number); }
  bool success() const { return kind == Kind::exited && number == 0; }
  bool operator==(const Outcome&) const = default;
};

/// The end of a job with its first cause.
struct Verdict {
  Outcome outcome;         ///< Success, or how the first to fail ended.
  std::string host;        ///< Where; empty on success.
  std::string process;     ///< What ended: "rank 3", "orted", "mpirun", "train", "host"; or empty.
  int rank = -1;           ///< The rank, -1 if it was not one.
  std::string last_lines;  ///< What it wrote last, newest last; at most 8 KiB.
  std::string command;     ///< As a person would type it.
  /// SIGKILL ended the process, and the kernel says that its out-of-memory killer struck meanwhile.
  bool out_of_memory = false;
  /// The failure file's first word; empty: ExecuteUserScriptError. InstallRequirementsError, ...
  std::string error_class = {};
  /// What ended the process, one line, from its last lines (job::Ending); empty: unknown.
  std::string error = {};
  /// `error` only reports another process's end: this end may be its consequence.
  bool blames_peer = false;
  /// A rank whose `sm rank` was killed by SIGKILL, so that its program's end was not observed.
  bool unseen = false;
  /// What the job's program wrote to output/failure on the host that reports this verdict; bounded.
  std::string failure_file = {};

  bool success() const { return outcome.success(); }
  bool operator==(const Verdict&) const = default;
};

/// "exit code 3", "killed by SIGSEGV", "lost: no heartbeat for 5 s", ...
std::string describe(const Outcome& outcome);
/// "rank 3 on algo-2: killed by SIGSEGV", "rank 2 on algo-2: exit code 1: ValueError: bad batch",
/// "success". One line.
std::string describe(const Verdict& verdict);
/// "SIGSEGV"; "signal 63" for one without a name.
std::string signal_name(int signal);
/// What a shell would report: the code, or 128 + signal; 1 for lost and failed.
int exit_code(const Outcome& outcome);

Json to_json(const Outcome& outcome);
Json to_json(const Verdict& verdict);
/// Error: `protocol`.
Result<Outcome> outcome_from(const Json& json);
Result<Verdict> verdict_from(const Json& json);

}  // namespace muster::job
