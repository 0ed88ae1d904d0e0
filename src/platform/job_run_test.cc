#include "platform/job_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "job/preflight/health.h"
#include "platform/test_run.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;
using job::Outcome;
using job::Phase;

using Bench = RunBench;

TEST_CASE("job run: a job's lines and statuses are in order, and its results in place") {
  Bench bench(2);
  for (const char* name : {"algo-1", "algo-2"}) {
    engine::FakeHost& host = bench.host(name);
    host.phase(Phase::downloading).phase(Phase::training).says(0, "hello\n");
    host.verdict({}).outcome(Outcome::exited(0)).leaves(std::string("model/") + name, "x").ends();
  }
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::completed);
  CHECK(bench.sink.text.substr(0, 9) == "Starting;");
  CHECK(bench.sink.text.find("algo-2:0 hello\n") != std::string::npos);
  CHECK(bench.sink.text.ends_with("Uploading;Completed;"));
  CHECK(bench.report.results.written);
  CHECK(read_file(bench.folder + "/out/model/algo-2").value_or("") == "x");
  CHECK(bench.report.kept == "");
  CHECK(bench.engine.list().empty());
}

TEST_CASE("job run: records of health stand under the names of nodes") {
  Bench bench(2);
  bench.cluster.queues = true;
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Waiting");
    bench.host("algo-1").starts("node7");
    bench.host("algo-2").starts("node9");
    for (const char* told : {R"({"host":"algo-2","record":{"time":1}})", R"({"host":7})", "[]",
                             R"({"host":"algo-9","record":{}})"})
      bench.host("algo-1").record(job::Message::preflight_facts, told);
    for (const char* name : {"algo-1", "algo-2"})
      bench.host(name).phase(Phase::training).outcome(Outcome::exited(0)).ends();
  });
  CHECK(bench.sink.text.find("node9 is {\"time\":1}\n") != std::string::npos);
  CHECK(bench.sink.text.find(" is {}") == std::string::npos);
}

TEST_CASE("job run: a GPU that failed is kept as the state of its node") {
  struct {
    const char* node;
    job::Card card;
    const char* level;  ///< The finding's level; null: nothing is kept.
  } const cases[] = {{"node7", job::Card::working, nullptr},
                     {"node8", job::Card::memory_error, "warning"},
                     {"node9", job::Card::broken, "error"}};
  const std::string error = "GPU 3 fell off the bus (Xid 79): not your code";
  for (const auto& c : cases) {
    CAPTURE(c.node);
    Bench bench(1);
    bench.spec.retries = 0;
    bench.cluster.queues = true;
    bench.run([&]() -> loop::Task<> {
      co_await bench.sink.until("Waiting");
      job::HostEnd end{"algo-1", Outcome::exited(1)};
      end.overruns = {"memory: 2 GiB", error};
      end.card = c.card;
      bench.host("algo-1").starts(c.node).phase(Phase::training);
      bench.host("algo-1").record(job::Message::outcome, encode(end));
      bench.host("algo-1").phase(Phase::failed).ends();
    });
    const std::string start = std::string(c.node) + " is ";
    const std::size_t at = bench.sink.text.find(start);
    REQUIRE((at != std::string::npos) == (c.level != nullptr));
    if (c.level == nullptr) continue;
    const std::size_t from = at + start.size();
    const std::string record = bench.sink.text.substr(from, bench.sink.text.find('\n', at) - from);
    const Result<preflight::Health> health = preflight::health_from(record);
    REQUIRE(health);
    CHECK(health->findings == std::vector<std::string>{error});
    CHECK(record.find(std::string("\"level\":\"") + c.level + '"') != std::string::npos);
  }
}

TEST_CASE("job run: hosts are asked again and again what they use, those that can tell") {
  Bench bench(2);
  bench.sink.pause = 1ms;
  bench.host("algo-1").usage = engine::Usage{.memory_bytes = 7};
  for (const char* name : {"algo-1", "algo-2"}) bench.host(name).phase(Phase::training);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("algo-1 uses 7;");
    bench.host("algo-1").usage->memory_bytes = 8;
    co_await bench.sink.until("algo-1 uses 8;");
    for (const char* name : {"algo-1", "algo-2"})
      bench.host(name).outcome(Outcome::exited(0)).ends();
  });
  CHECK(bench.sink.text.find("algo-2 uses") == std::string::npos);
}

TEST_CASE("job run: results go to S3 before the job's last word, if they cannot, it failed") {
  for (const bool works : {true, false}) {
    Bench bench(1);
    bench.spec.output_folder.clear();
    bench.spec.s3_output = "s3://bucket/out";
    if (!works) bench.job().upload_error = fail(Errc::denied, "s3://bucket/out/x: access denied");
    bench.host("algo-1").phase(Phase::training).outcome(Outcome::exited(0)).ends();
    bench.run();
    CHECK(bench.report.uploaded == (works ? "{}" : ""));
    CHECK(bench.report.kept == (works ? "" : "the fake job demo"));
    const JobEnd::Status want = works ? JobEnd::Status::completed : JobEnd::Status::failed;
    CHECK(bench.report.end.status == want);
    if (works) continue;
    CHECK(bench.job().asked == "upload completed;");
    CHECK(bench.report.end.reason == "s3://bucket/out/x: access denied");
  }
}

TEST_CASE("job run: results wait where they are for room in S3, until somebody stops the job") {
  for (const bool gives_up : {false, true}) {
    Bench bench(1);
    bench.spec.output_folder.clear();
    bench.spec.s3_output = "s3://bucket/out";
    bench.options.upload_pause = gives_up ? Duration(1h) : Duration(1ms);
    bench.job().no_room = gives_up ? 100 : 3;
    bench.host("algo-1").phase(Phase::training).outcome(Outcome::exited(0)).ends();
    bench.run([&]() -> loop::Task<> {
      co_await bench.sink.until("No space for the results (the disk is full): they are in ");
      if (gives_up) bench.requests.stop();
    });
    CHECK(bench.report.uploaded == (gives_up ? "" : "{}"));
    CHECK(bench.report.trouble.starts_with(gives_up ? "the disk is full; the results are kept in"
                                                    : ""));
    const JobEnd::Status want = gives_up ? JobEnd::Status::failed : JobEnd::Status::completed;
    CHECK(bench.report.end.status == want);
    const std::size_t told = bench.sink.text.find("No space");
    CHECK(bench.sink.text.find("No space", told + 1) == std::string::npos);
  }
}

TEST_CASE("job run: lines written just before a steward's end are not lost") {
  Bench bench(1);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Starting;");
    bench.host("algo-1").phase(Phase::training).says(0, "last words\n");
    bench.host("algo-1").outcome(Outcome::exited(1)).ends();
  });
  CHECK(bench.sink.text.find("last words") != std::string::npos);
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.end.reason == "train on algo-1: exit code 1");
}

TEST_CASE("job run: journals are read on as they grow, each record once") {
  Bench bench(2);
  bench.run([&]() -> loop::Task<> {
    for (int round = 0; round < 50; ++round) {
      const std::string text = "line " + std::to_string(round) + "\n";
      bench.host("algo-1").says(0, text);
      bench.host("algo-2").says(1, text);
      co_await bench.sink.until("algo-1:0 " + text);
      co_await bench.sink.until("algo-2:1 " + text);
    }
    for (const char* name : {"algo-1", "algo-2"})
      bench.host(name).outcome(Outcome::exited(0)).ends();
  });
  const std::string& text = bench.sink.text;
  CHECK(std::count(text.begin(), text.end(), '\n') == 100);
  CHECK(bench.report.end.status == JobEnd::Status::completed);
}

TEST_CASE("job run: a failure ends hosts that do not end by themselves") {
  Bench bench(2);
  bench.options.times.failure_window = 10ms;
  bench.job().on_stop = [&](const std::string& host, std::chrono::milliseconds) {
    bench.host(host).outcome(Outcome::signaled(9)).ends();
  };
  job::Verdict verdict;
  verdict.outcome = Outcome::lost("no heartbeat for 5 s");
  verdict.host = "algo-2";
  verdict.process = "host";
  bench.host("algo-2").phase(Phase::training);
  bench.host("algo-1").phase(Phase::training).verdict(verdict).outcome(Outcome::exited(1)).ends();
  bench.options.keep = true;
  bench.run();
  CHECK(bench.job().asked == "algo-2 0;");
  CHECK(bench.report.end.verdict.host == "algo-2");
}

TEST_CASE("job run: a stop and a kill reach the hosts even if the output has no reader") {
  Bench bench(1);
  bench.options.keep = true;
  bench.job().on_stop = [](const std::string&, std::chrono::milliseconds) {};
  bench.host("algo-1").phase(Phase::training).says(0, "much\n");
  bench.sink.closed = true;
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("much");
    bench.requests.stop();
    loop::Timer moment(bench.loop);
    while (bench.job().asked.empty()) co_await moment.after(1ms);
    CHECK(bench.job().asked == "algo-1 30000;");
    bench.requests.kill();
    while (bench.job().asked == "algo-1 30000;") co_await moment.after(1ms);
    CHECK(bench.job().asked == "algo-1 30000;algo-1 0;");
    bench.host("algo-1").outcome(Outcome::signaled(9), true).ends();
    bench.sink.open();
  });
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
  CHECK(bench.sink.text.ends_with("Stopped;"));
  CHECK(bench.sink.text.find("Stopping;") != std::string::npos);
}

TEST_CASE("job run: results that cannot be put in place fail the job and are kept") {
  Bench bench(1);
  REQUIRE(write_file(bench.folder + "/file", ""));
  bench.spec.output_folder = bench.folder + "/file/out";
  bench.host("algo-1").phase(Phase::training).verdict({}).outcome(Outcome::exited(0)).ends();
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.trouble.find("kept in the fake job demo") != std::string::npos);
  CHECK(bench.job().kept);
}

TEST_CASE("job run: leftovers that cannot be removed are reported and don't change the job's end") {
  Bench bench(1);
  bench.job().release_error = fail(Errc::system, "demo: Device or resource busy");
  bench.host("algo-1").phase(Phase::training).outcome(Outcome::exited(0)).ends();
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::completed);
  CHECK(bench.report.trouble == "demo: Device or resource busy");
}

TEST_CASE("job run: a damaged journal fails the job, after what can be read of it") {
  Bench bench(1);
  bench.options.times.failure_window = 10ms;
  bench.host("algo-1").phase(Phase::training).says(0, "before\n").damage();
  bench.run();
  CHECK(bench.sink.text.find("before") != std::string::npos);
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.end.verdict.process == "journal");
}

TEST_CASE("job run: a job waits for its hosts, and says for what") {
  Bench bench(2);
  bench.cluster.queues = true;
  bench.spec.run_time_max = 1s;  // None of it goes by in the queue.
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("(Waiting to be started: Resources)");
    bench.host("algo-1").waits("Priority");
    co_await bench.sink.until("(Waiting to be started: Priority)");
    bench.host("algo-1").starts("node-1");
    bench.host("algo-2").starts("node-2");
    for (const char* name : {"algo-1", "algo-2"})
      bench.host(name).phase(Phase::training).outcome(Outcome::exited(0)).ends();
  });
  CHECK(bench.report.end.status == JobEnd::Status::completed);
  CHECK(bench.sink.text.find("Downloading;Training;Uploading;Completed;") != std::string::npos);
}

TEST_CASE("job run: a job that is stopped while it is queued runs nowhere") {
  Bench bench(2);
  bench.cluster.queues = true;
  bench.options.keep = true;
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Resources");
    bench.requests.stop();
  });
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
  CHECK(bench.job().asked == "algo-1 30000;algo-2 30000;");
  CHECK(!bench.host("algo-1").started());
  CHECK(bench.report.end.training_time == 0s);
}

TEST_CASE("job run: a stop while the engine starts the job takes effect") {
  Bench bench(1);
  bench.cluster.start_takes = 60s;
  bench.requests.stop();
  bench.run([&]() -> loop::Task<> {
    loop::Timer turn(bench.loop);
    while (bench.engine.list().empty()) co_await turn.after(0ms);
    bench.cluster.pass(60s);
  });
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
}

TEST_CASE(
    "job run: a host that the engine lost, or gave to others, is the cause, with the reason") {
  struct {
    const char* name;
    std::function<void(Bench&)> happens;
    const char* want;
  } const cases[] = {
      {"lost", [](Bench& bench) { bench.host("algo-2").lost("node-2 does not answer"); },
       "host algo-2: lost: node-2 does not answer"},
      {"lost, told long after the others said what came of it",
       [](Bench& bench) {
         bench.cluster.pass(30s);
         job::Verdict word;
         word.outcome = Outcome::exited(1);
         word.host = "algo-1";
         word.process = "rank 0";
         word.rank = 0;
         bench.host("algo-1").verdict(word).outcome(Outcome::exited(1)).ends();
         bench.cluster.pass(30s);
         bench.host("algo-2").lost("node-2 does not answer", 45s);
       },
       "host algo-2: lost: node-2 does not answer"},
      {"preempted", [](Bench& bench) { bench.host("algo-2").preempted("by job 7 of gold"); },
       "host algo-2: preempted: by job 7 of gold"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Bench bench(2);
    bench.options.times.failure_window = 10ms;
    bench.spec.retries = 0;
    bench.run([&]() -> loop::Task<> {
      for (const char* name : {"algo-1", "algo-2"}) bench.host(name).phase(Phase::training);
      co_await bench.sink.until("Training;");
      c.happens(bench);
    });
    CHECK(bench.report.end.status == JobEnd::Status::failed);
    CHECK(bench.report.end.reason == c.want);
  }
}

TEST_CASE("job run: a preempted job continues elsewhere, with the same hosts") {
  Bench bench(2);
  bench.options.times.failure_window = 10ms;
  bench.run([&]() -> loop::Task<> {
    for (const char* name : {"algo-1", "algo-2"}) bench.host(name).phase(Phase::training);
    co_await bench.sink.until("Training;");
    bench.host("algo-1").says(0, "first try\n");
    bench.host("algo-2").preempted("by job 7 of gold");
    co_await bench.sink.until("Restarting;");
    for (const char* name : {"algo-1", "algo-2"}) {
      engine::FakeHost& host = bench.host(name);
      host.phase(Phase::training).says(0, "second try\n");
      host.verdict({}).outcome(Outcome::exited(0)).leaves("model/weights", "w").ends();
    }
  });
  CHECK(bench.report.end.status == JobEnd::Status::completed);
  CHECK(bench.sink.text.find("first try") < bench.sink.text.find("Interrupted;Restarting;"));
  CHECK(bench.sink.text.find("algo-2:0 second try\n") != std::string::npos);
  CHECK(read_file(bench.folder + "/out/model/weights").value_or("") == "w");
}

TEST_CASE("job run: a job that somebody stops is not started again") {
  Bench bench(1);
  bench.job().on_stop = [&](const std::string&, std::chrono::milliseconds) {
    bench.host("algo-1").preempted("by job 7 of gold");
  };
  bench.run([&]() -> loop::Task<> {
    bench.host("algo-1").phase(Phase::training);
    co_await bench.sink.until("Training;");
    bench.requests.stop();
  });
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
  CHECK(bench.sink.text.find("Restarting") == std::string::npos);
}

TEST_CASE("job run: three attempts that leave no checkpoint are the last, one that does is not") {
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    Bench bench(1);
    bench.options.times.failure_window = 10ms;
    bench.run([&]() -> loop::Task<> {
      for (int attempt = 1; attempt <= 4; ++attempt) {
        engine::FakeHost& host = bench.host("algo-1").phase(Phase::training);
        const std::string told(job::checkpoint_stored);
        if (keeps) host.record(job::Message::log, encode(job::LogLine{"info", told + "a"}));
        if (keeps && attempt == 4) {
          host.verdict({}).outcome(Outcome::exited(0)).ends();
          co_return;
        }
        host.preempted("by job 7 of gold");
        if (!keeps && attempt == 3) co_return;
        while (bench.host("algo-1").attempt() == attempt) co_await bench.loop.turn();
      }
    });
    CHECK((bench.report.end.status == JobEnd::Status::completed) == keeps);
    CHECK((bench.sink.text.find("leave a checkpoint") == std::string::npos) == keeps);
  }
}

loop::Task<> start_and_leave(Bench& bench) {
  const Result<std::unique_ptr<engine::Run>> started = co_await bench.engine.start(bench.spec);
  REQUIRE(started);
}

TEST_CASE("job run: a process that takes over a job continues its count of losses") {
  Bench bench(1);
  bench.spec.retries = 1;
  bench.host("algo-1").phase(Phase::training);
  bench.job().tally = {.lost = 1, .idle = 0};
  loop::run_task(bench.loop, start_and_leave(bench));
  bench.resumed = true;
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Training;");
    bench.host("algo-1").lost("node1 is down");
  });
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.sink.text.find("a machine was lost 2 times") != std::string::npos);
  CHECK(bench.sink.text.find("Restarting") == std::string::npos);
}

TEST_CASE("job run: a node's trouble is a warning of its host") {
  Bench bench(1);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Starting;");
    bench.host("algo-1").reports_health("node-1: 3 ECC errors");
    co_await bench.sink.until("algo-1 logs node-1: 3 ECC errors;");
    bench.host("algo-1").outcome(Outcome::exited(0)).ends();
  });
  CHECK(bench.report.end.status == JobEnd::Status::completed);
}

TEST_CASE("job run: an engine that cannot start the job says why") {
  Bench bench(1);
  bench.cluster.full_disk = true;
  loop::run_task(bench.loop, bench.body());
  CHECK(bench.error.text == "No space left on device");
  CHECK(bench.sink.text == "");
}

TEST_CASE("job run: a job that an earlier process started is shown from its beginning") {
  Bench bench(1);
  bench.resumed = true;
  const auto start = [&]() -> loop::Task<> {
    const Result<std::unique_ptr<engine::Run>> run = co_await bench.engine.start(bench.spec);
    REQUIRE(run);
  };
  loop::run_task(bench.loop, start());
  bench.host("algo-1").phase(Phase::training).says(0, "hello\n").outcome(Outcome::exited(0)).ends();
  bench.run();
  CHECK(bench.sink.text.find("algo-1:0 hello") != std::string::npos);
  CHECK(bench.report.end.status == JobEnd::Status::completed);
}

TEST_CASE("job run: a start that was cut short leaves nothing and can be repeated") {
  Bench bench(2);
  bench.resumed = true;
  bench.job().begun = true;  // The job's hosts may run; the caller cannot know.
  loop::run_task(bench.loop, bench.body());
  CHECK(bench.error.code == Errc::not_found);
  CHECK(bench.engine.list().empty());
}

TEST_CASE("job run: a steward's log lines are shown, and the last error explains a failed end") {
  Bench bench(1);
  engine::FakeHost& host = bench.host("algo-1").phase(Phase::training);
  host.record(job::Message::log, encode(job::LogLine{"warning", "the disk is slow"}));
  host.record(job::Message::log, encode(job::LogLine{"error", "result: no space left"}));
  host.record(job::Message::log, "nonsense");
  host.record(job::Message::lines, "");
  host.verdict({}).outcome(Outcome::exited(0)).ends(Outcome::exited(1));
  bench.run();
  CHECK(bench.sink.text.find("algo-1 logs the disk is slow;") != std::string::npos);
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.end.reason == "steward on algo-1: result: no space left");
}

TEST_CASE("job run: a node that recovered is not reported") {
  Bench bench(1);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Starting;");
    bench.host("algo-1").reports_health("node-1: 3 ECC errors");
    co_await bench.sink.until("3 ECC errors;");
    bench.host("algo-1").reports_health("");
    bench.host("algo-1").outcome(Outcome::exited(0)).ends();
  });
  const std::string& text = bench.sink.text;
  CHECK(text.find("logs") == text.rfind("logs"));
}

TEST_CASE("job run: a steward that does not answer a kill is killed itself") {
  Bench bench(1);
  bench.options.times.kill_margin = 10ms;
  bench.options.keep = true;
  bench.host("algo-1").phase(Phase::training).manner = engine::FakeHost::Manner::deaf;
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("Training;");
    bench.requests.kill();
  });
  CHECK(bench.job().asked == "algo-1 0;destroy algo-1;");
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
}

}  // namespace
}  // namespace muster::platform
