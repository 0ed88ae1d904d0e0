#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "engine/fake.h"
#include "net/loop/testing.h"
#include "platform/job_run.h"

/// For tests of running jobs: a job on an engine in memory, and the events that it reports.
namespace muster::platform {

using namespace std::chrono_literals;

/// Collects all events as one text, and notifies the test.
class FakeSink final : public Sink {
 public:
  explicit FakeSink(loop::Loop& loop) : came_(loop), opened_(loop) {}
  void status(const StatusLine& line) override {
    if (line.message.starts_with("Waiting") || line.message.starts_with("No space"))
      text += "(" + line.message + ")";
    text += line.status + (line.beside ? "(beside);" : ";");
  }
  void lines(const std::string& host, UnixMillis, const job::Lines& lines) override {
    text += host + ":" + std::to_string(lines.rank) + " " + lines.bytes;
  }
  void log(const std::string& host, UnixMillis, const job::LogLine& line) override {
    text += host + " logs " + line.text + ";";
  }
  void standstill(const std::optional<Standstill>& what) override {
    if (what) text += what->verdict.empty() ? "silent;" : "[" + what->verdict + "];";
    if (!what && stands) text += "moves;";
    stands = what;
    came_.notify();
  }
  void health(const std::string& node, const std::string& record) override {
    text += node + " is " + record;
  }
  loop::Task<> flush() override {
    came_.notify();
    while (closed) co_await opened_.wait();
  }
  void usage(const std::vector<engine::HostUsage>& hosts) override {
    for (const engine::HostUsage& each : hosts)
      text += each.host + " uses " + std::to_string(each.usage.memory_bytes) + ";";
    came_.notify();
  }
  Duration usage_pause() override { return pause; }
  loop::Task<> until(std::string part) {
    while (text.find(part) == std::string::npos) co_await came_.wait();
  }
  void open() {
    closed = false;
    opened_.notify();
  }
  std::string text;
  std::optional<Standstill> stands;
  bool closed = false;  ///< Takes nothing more, as a pager that waits.
  Duration pause{0};    ///< Between two askings what hosts use.

 private:
  loop::Event came_;
  loop::Event opened_;
};

struct RunBench {
  explicit RunBench(int hosts)
      : folder(*make_private_folder("/tmp", "muster-run-")),
        cluster(loop),
        engine(cluster),
        sink(loop),
        requests(loop) {
    spec.name = "demo";
    spec.instance_count = hosts;
    spec.output_folder = folder + "/out";
    options.silent_after = 0ms;  // The engine's time is not the clock's.
  }
  RunBench(const RunBench&) = delete;
  RunBench& operator=(const RunBench&) = delete;
  ~RunBench() { static_cast<void>(remove_tree(folder)); }

  engine::FakeJob& job() { return cluster.job(spec); }
  engine::FakeHost& host(const std::string& name) { return job().host(name); }
  loop::Task<> body() {
    Result<JobReport> done = fail(Errc::not_found, "");
    if (resumed)
      done = co_await resume_job(loop, engine, spec, options, sink, requests);
    else
      done = co_await run_job(loop, engine, spec, options, sink, requests);
    error = done ? Error() : done.error();
    if (done) report = *std::move(done);
  }
  /// To the end; it must come to one.
  void run() {
    loop::run_task(loop, body());
    REQUIRE(error.text == "");
  }
  /// Runs the job while the test does something.
  void run(const std::function<loop::Task<>()>& story) {
    loop::Tasks tasks(loop);
    tasks.start(story());
    run();
  }

  std::string folder;
  loop::Loop loop;
  engine::FakeCluster cluster;
  engine::FakeEngine engine;
  FakeSink sink;
  Requests requests;
  job::Spec spec;
  JobRunOptions options;
  JobReport report;
  Error error;
  bool resumed = false;
};

}  // namespace muster::platform
