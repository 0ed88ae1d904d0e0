#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "host/calls/writer.h"
#include "job/outcome/lines.h"
#include "job/outcome/outcome.h"
#include "job/wire/mark.h"
#include "job/wire/rank_start.h"
#include "net/loop/wait.h"
#include "os/supervise/tags.h"

namespace muster::calls {

/// Where `train` reports what happens on its host: the steward's stream, if there is one
/// (docs/protocols/steward.md). Otherwise its own standard output, in the reference's form; on a
/// terminal, lines are printed as visible() shows them.
class Output {
 public:
  Output(loop::Loop& loop, std::optional<int> steward_fd);

  /// From now on, lines of ranks carry their tag, if there is no steward to attribute them.
  void tag_ranks() { tagged_ = true; }

  /// Lines of a rank of `host`; waits while the reader does not keep up.
  loop::Task<> lines(std::string host, job::Lines lines);
  /// A launcher's own output, kept separate from the users' lines.
  loop::Task<> launcher_lines(job::Lines lines);
  /// As lines(), without waiting; see behind().
  void post_lines(const std::string& host, job::Lines lines);
  /// Waits until the reader keeps up again.
  loop::Task<> room() { return out_.room(); }
  bool behind() const { return out_.behind(); }

  /// A process of this host has ended; reported only to a steward.
  void ended(const job::Verdict& verdict);
  void verdict(const job::Verdict& verdict);
  /// Reported only to a steward.
  void rank_started(const job::RankStart& start);
  /// A full preflight's result for a host of the job, as its record (job/preflight/health.h);
  /// reported only to a steward.
  void health(const std::string& host, const std::string& record);
  /// A point in this host's start, when it is first reached; reported only to a steward.
  void mark(job::Mark mark);
  loop::Task<> flushed(TimePoint deadline);
  bool has_steward() const { return steward_; }

 private:
  /// Lines in the form for standard output or standard error: visible() on a terminal.
  std::string shown(const Writer& to, std::string text) const;

  bool steward_;
  bool tagged_ = false;
  std::set<job::Mark> marked_;
  Writer out_;
  Writer err_;
  supervise::TagWriter tags_;
};

}  // namespace muster::calls
