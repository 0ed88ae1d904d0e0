#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "host/measure/pair.h"
#include "job/preflight/judge.h"
#include "job/training/training.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::calls {

// The checks that a job's hosts make of each other before its program runs. Source:
// docs/protocols/preflight.md.

enum class PreflightMode { off, light, full };

struct PreflightOptions {
  PreflightMode mode = PreflightMode::off;
  preflight::Thresholds thresholds = {};
  bool json = false;  ///< The leader writes all results to standard output.
  Env env = {};       ///< The process's: PATH and PYTHONPATH.
};

/// MUSTER_PREFLIGHT (off, light, full, json) and the thresholds. Default: light, but off under a
/// steward, whose hosts may be on one machine. Error: `invalid_input`.
Result<PreflightOptions> preflight_options(const Env& env, bool has_steward);

/// The payload of `start` that requests a preflight from the members, and the mode in such a
/// payload.
std::string start_text(PreflightMode mode);
PreflightMode mode_in(std::string_view start_payload);

/// A host's part: its facts and its measurements. Blocking work runs on separate threads.
class PreflightHost {
 public:
  PreflightHost(loop::Loop& loop, const job::Training& training, const PreflightOptions& options)
      : loop_(loop), training_(training), options_(options) {}

  /// `listens`: for measurements, too.
  loop::Task<preflight::HostFacts> facts(bool listens);
  /// Call after facts(), once at a time.
  loop::Task<std::vector<preflight::PairFacts>> measure(preflight::PairTask task);
  /// Stops accepting connections.
  void close() { listener_.reset(); }

 private:
  loop::Loop& loop_;
  const job::Training& training_;
  const PreflightOptions& options_;
  std::shared_ptr<preflight::Listener> listener_;
};

/// The leader's part: asks all hosts, waits for them with deadlines, evaluates and reports.
class PreflightLead {
 public:
  using Post = std::function<void(const std::string& to, job::Message type, std::string_view)>;
  /// Receives a host's health record.
  using Keep = std::function<void(const std::string& host, const std::string& record)>;
  PreflightLead(loop::Loop& loop, const job::Training& training, const PreflightOptions& options,
                const Log& log, Post post);
  /// Records are passed to `keep` instead of being written to this machine's state folder.
  void keep_by(Keep keep) { keep_ = std::move(keep); }

  /// Runs the preflight to its end. Error: the hosts cannot work together (full preflight only).
  loop::Task<Result<void>> run();
  void member_facts(const std::string& from, std::string_view payload);
  void member_ways(const std::string& from, std::string_view payload);
  void lost(const std::string& host);

 private:
  using Round = std::vector<std::pair<std::size_t, std::size_t>>;
  loop::Task<> own_facts();
  loop::Task<> own_ways(preflight::PairTask task);
  loop::Task<> wait_for_all(Duration at_most);
  loop::Task<> measure_ring();
  loop::Task<> measure_round(Round round);
  std::vector<Round> slow_rounds() const;
  std::vector<preflight::HostFacts> known_hosts() const;
  void give(const preflight::HostFacts& host, const preflight::HostFacts& peer, bool connects,
            const std::string& hello, const std::string& answer);
  void take_ways(const std::string& from, const std::vector<preflight::PairFacts>& ways);
  Result<void> tell(Duration took);
  void keep(const std::vector<preflight::HostFacts>& hosts,
            const std::vector<preflight::Finding>& findings);

  loop::Loop& loop_;
  const job::Training& training_;
  const PreflightOptions& options_;
  const Log& log_;
  Post post_;
  Keep keep_;
  PreflightHost own_;
  std::set<std::string> awaited_;
  std::map<std::string, preflight::HostFacts> facts_;
  std::map<std::string, std::string> peers_;  ///< The pairs that measure in this round.
  std::vector<preflight::PairFacts> ways_;
  loop::Event changed_;
  loop::Tasks tasks_;
};

}  // namespace muster::calls
