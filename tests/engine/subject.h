#pragma once

// An engine under test, from both sides: that of its callers, and that of their stewards.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "net/loop/testing.h"

namespace muster::contract {

using RunPtr = std::unique_ptr<engine::Run>;
using RunResult = Result<RunPtr>;

class Subject {
 public:
  virtual ~Subject() = default;
  virtual engine::Engine& engine() = 0;
  /// The engine's process ends and comes again; its Runs have been destroyed.
  virtual void restart() = 0;

  /// What the stewards of the job "demo" do.
  virtual void writes(const std::string& host, const std::string& text) = 0;  ///< A record.
  virtual void tears(const std::string& host) = 0;  ///< The steward dies in the middle of a record.
  virtual void damages(const std::string& host) = 0;  ///< Nothing can be read from here on.
  virtual void leaves(const std::string& host, const std::string& path,
                      const std::string& text) = 0;
  virtual void ends(const std::string& host, int code) = 0;
  virtual void kills(const std::string& host) = 0;  ///< Somebody SIGKILLs its steward.
  virtual void begins_anew() {}  ///< What is written from here on is another attempt's.
  /// How hosts of jobs that are started from now on take a stop: at once; only without grace; not.
  enum class Manner { obeys, stubborn, deaf };
  virtual void manner(Manner manner) = 0;
  /// Waits until the host runs and has its manner.
  virtual loop::Task<> ready(std::string host) = 0;

  /// Leaves "demo" as a start does that was killed halfway.
  virtual void cut_short(const job::Spec& spec) = 0;
  virtual void full_disk(bool full) = 0;
  virtual void upload_fails() = 0;

  loop::Loop& loop() { return loop_; }
  void run(const std::function<loop::Task<>()>& body) {
    loop::run_task(loop_, body(), std::chrono::seconds(60));
  }

 private:
  loop::Loop loop_;
};

/// The job "demo".
job::Spec demo(int hosts);
/// Starts "demo".
loop::Task<RunPtr> start(Subject& subject, int hosts);
loop::Task<RunPtr> attach(Subject& subject);
/// The next event, which must come.
loop::Task<engine::Event> next(engine::Run& run);
/// The next event that is a start; whatever the host waited for until then is passed over.
loop::Task<engine::Event> next_start(engine::Run& run);
/// The next event that is an end.
loop::Task<engine::Event> next_end(engine::Run& run);
/// Ends all hosts well, and hears of it.
loop::Task<> end_all(Subject& subject, engine::Run& run);
/// True if next_event() returns `closed`.
loop::Task<bool> is_closed(engine::Run& run);
/// What the records from `from` on hold, "one;two;", however many calls that takes.
std::string journal(engine::Run& run, const std::string& host, std::uint64_t from = 1);
/// As journal(), once there is as much as `want` has: what a steward elsewhere has just written
/// comes in its time.
loop::Task<std::string> journal_of(engine::Run& run, std::string host, std::string want,
                                   std::uint64_t from = 1);

}  // namespace muster::contract
