#pragma once

// For tests only: a host's part of a job of which the test is the other host.

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "host/calls/conduct.h"
#include "job/outcome/lines.h"
#include "job/wire/message.h"
#include "net/loop/testing.h"

namespace muster::calls {

/// A file in memory that the code under test writes and the test reads.
struct Paper {
  Fd file{::memfd_create("paper", MFD_CLOEXEC)};
  std::string text() const {
    std::string all(1u << 20, '\0');
    const ssize_t count = ::pread(file.get(), all.data(), all.size(), 0);
    all.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return all;
  }
  bool has(std::string_view words) const { return text().find(words) != std::string::npos; }
};

/// A message between hosts, or to a steward.
struct Heard {
  job::Message type{};
  std::string payload;
};

inline std::vector<std::string> payloads(const std::vector<Heard>& heard, job::Message type) {
  std::vector<std::string> found;
  for (const Heard& each : heard)
    if (each.type == type) found.push_back(each.payload);
  return found;
}

inline Command shell(const std::string& script) {
  return {{"sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, "/"};
}

inline Work program(const std::string& script) {
  Work work;
  work.name = "train.py";
  work.rank = 0;
  work.program = shell(script);
  return work;
}

inline launch::Call direct_call(Args hosts, const std::string& script) {
  launch::Call call;
  call.name = "run train.py";
  call.digest = "digest";
  call.hosts = std::move(hosts);
  call.kind = launch::Call::Kind::direct;
  call.programs.push_back({"rank 0", 0, shell(script), true});
  return call;
}

inline std::string verdict_text(const std::string& host, job::Outcome outcome) {
  job::Verdict verdict;
  verdict.host = host;
  verdict.process = "train.py";
  verdict.outcome = std::move(outcome);
  return to_text(job::to_json(verdict));
}

/// One host's own things, with a steward that is a file. Times are short where a test waits for
/// them to pass, and long where they guard.
struct OneHost {
  OneHost(const std::string& name, const std::string& leader, std::vector<std::string> hosts)
      : host_run(loop, reaper, name, log) {
    training.job_name = "job";
    training.current_host = name;
    training.leader = leader;
    training.hosts = std::move(hosts);
    options.join_deadline = std::chrono::seconds(20);
    options.heartbeat = std::chrono::milliseconds(200);
    options.lost_after = std::chrono::seconds(5);
    options.stop_grace = std::chrono::seconds(20);
    options.failure_grace = std::chrono::milliseconds(200);
  }
  OneHost(const OneHost&) = delete;
  OneHost& operator=(const OneHost&) = delete;

  HostContext context() {
    return {loop,     training,     options, key,
            host_run, *output,      log,     [this] { return prepare(*this); },
            socket,   for_operators};
  }
  static loop::Task<Prepared> prepare(OneHost& self) {
    self.prepared = true;
    self.moved.notify();
    while (self.hold_work) co_await self.moved.wait();
    co_return self.work;
  }
  /// The messages that the steward has received so far.
  std::vector<Heard> told() const {
    FrameReader reader;
    reader.feed(steward.text());
    std::vector<Heard> all;
    for (Result<std::optional<Frame>> next = reader.next(); next && *next; next = reader.next())
      all.push_back({static_cast<job::Message>((*next)->type), (*next)->payload});
    return all;
  }
  /// The users' lines that the steward has received.
  std::string lines() const {
    std::string text;
    for (const std::string& payload : payloads(told(), job::Message::lines))
      text += job::lines_from(payload)->bytes;
    return text;
  }
  /// Waits until `done`; run_task's guard ends what hangs.
  template <class Done>
  loop::Task<> until(Done done) {
    loop::Timer pause(loop);
    while (!done()) co_await pause.after(std::chrono::milliseconds(1));
  }
  /// The part from its start to its end, and meanwhile what the test does.
  job::Verdict run(Conduct& part, loop::Task<> story) {
    std::optional<job::Verdict> verdict;
    loop::run_task(loop, both(*this, part, std::move(story), verdict));
    REQUIRE(verdict);
    return *verdict;
  }
  job::Verdict run(Conduct& part) { return run(part, nothing()); }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  Paper said;     ///< The log.
  Paper steward;  ///< The steward's stream.
  Log log{said.file.get(), "test", Log::Level::info};
  job::Training training;
  env::TrainOptions options{};
  std::string key = std::string(32, 'k');
  std::optional<Output> output{std::in_place, loop, steward.file.get()};
  ranks::HostRun host_run;
  bool socket = false;
  Env for_operators;
  Prepared work = program("true");
  bool hold_work = false;  ///< The work is not prepared until this is false.
  bool prepared = false;   ///< The work was asked for.
  loop::Event moved{loop};

 private:
  static loop::Task<> nothing() { co_return; }
  static loop::Task<> conduct(Conduct& part, std::optional<job::Verdict>& verdict) {
    verdict = co_await part.run();
  }
  static loop::Task<> both(OneHost& self, Conduct& part, loop::Task<> story,
                           std::optional<job::Verdict>& verdict) {
    loop::Tasks tasks(self.loop);
    tasks.start(conduct(part, verdict));
    tasks.start(std::move(story));
    co_await tasks.join();
  }
};

}  // namespace muster::calls
