#include "server/jobs/watch.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"
#include "server/store/metric_reader.h"
#include "server/test_journals.h"

namespace muster::jobs {
namespace {

using job::Outcome;
using End = platform::JobEnd::Status;

platform::JobReport report_of(End status, const Outcome& outcome) {
  platform::JobReport report;
  report.end.status = status;
  report.end.verdict.outcome = outcome;
  report.end.reason = "rank 3 on algo-2: exit code 3";
  report.end.last = {"Last", "the last line", UnixMillis(7)};
  return report;
}

TEST_CASE("watch: a job's end is in the store, as SageMaker's statuses") {
  struct {
    End status;
    store::Status want;
  } const cases[] = {{End::completed, store::Status::completed},
                     {End::failed, store::Status::failed},
                     {End::stopped, store::Status::stopped},
                     {End::timed_out, store::Status::stopped}};
  for (const auto& c : cases) {
    const store::JobFinish finish = finish_of(report_of(c.status, Outcome::exited(3)));
    CHECK(finish.change.status == c.want);
    CHECK(finish.change.secondary == "Last");
    CHECK(finish.change.message == "the last line");
    CHECK(finish.change.time == UnixMillis(7));
    const bool failed = c.status == End::failed;
    CHECK(finish.failure_reason == (failed ? "AlgorithmError: rank 3 on algo-2: exit code 3" : ""));
  }
}

TEST_CASE("watch: the model is where the engine says that it was uploaded to") {
  platform::JobReport report = report_of(End::completed, Outcome::exited(0));
  for (const char* nothing : {"", "{}", "[]", "nonsense"}) {
    report.uploaded = nothing;
    CHECK(finish_of(report).model_artifacts.empty());
  }
  report.uploaded = R"({"model": {"url": "s3://b/out/job/output/model.tar.gz"}})";
  CHECK(finish_of(report).model_artifacts == "s3://b/out/job/output/model.tar.gz");
}

struct Bench {
  Bench() { REQUIRE(store.submit({"a", "arn:a", "{}", {}, UnixMillis(1), ""})); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { static_cast<void>(remove_tree(folder)); }
  std::vector<std::string> secondaries() {
    std::vector<std::string> names;
    const store::Job job = **store.job("a");
    for (const store::Transition& each : job.state.transitions) names.push_back(each.status);
    return names;
  }

  std::string folder = *make_private_folder("/tmp", "muster-watch-");
  loop::Loop loop;
  loop::Tasks tasks{loop};
  store::Store store = *store::Store::open(folder + "/store.db");
  server::TestJournals journals{folder};
  cloudwatch::Metrics metrics{loop, store, journals.files};
  Reserve reserve{folder + "/reserve"};
  Log log{-1, "test", Log::Level::error};
  JobCounts counts;
  Standstills standstills;
  WatchContext context{loop, tasks, store, metrics, reserve, log, counts, standstills};
  int kept = 0;
  std::vector<store::JobFinish> finished;

  static loop::Task<> finish(Bench& self, store::JobFinish end) {
    self.finished.push_back(std::move(end));
    co_return;
  }
  Watch::AtEnd at_end() {
    Watch::AtEnd at_end;
    at_end.keep_journals = [this]() -> Result<void> {
      ++kept;
      return {};
    };
    at_end.finish = [this](store::JobFinish end) { return finish(*this, std::move(end)); };
    return at_end;
  }
};

TEST_CASE_FIXTURE(Bench, "watch: statuses that are already in the store are not reported again") {
  Watch first(context, "a", "Pending", at_end());
  for (const char* status : {"Starting", "Downloading"})
    first.status({status, "message", UnixMillis(2)});
  Watch second(context, "a", "Downloading", at_end());  // A server that started again.
  for (const char* status : {"Starting", "Downloading", "Training"})
    second.status({status, "message", UnixMillis(3)});
  second.status({"Stopping", "Stopping the training job", UnixMillis(4)});
  CHECK(secondaries() ==
        std::vector<std::string>{"Pending", "Starting", "Downloading", "Training", "Stopping"});
  CHECK((**store.job("a")).state.status == store::Status::stopping);
}

TEST_CASE_FIXTURE(Bench, "watch: a remark is in the message of the status Training") {
  Watch watch(context, "a", "Pending", at_end(), "no GPU");
  for (const char* status : {"Starting", "Training"}) watch.status({status, status, UnixMillis(2)});
  watch.status({"Training", "2 of 3 hosts", UnixMillis(2), true});
  watch.status({"Uploading", "Uploading", UnixMillis(2)});
  const store::Job job = **store.job("a");
  std::vector<std::string> messages;
  for (const store::Transition& each : job.state.transitions) messages.push_back(each.message);
  CHECK(messages.back() == "Uploading");
  CHECK(std::count(messages.begin(), messages.end(), "2 of 3 hosts") == 1);
  CHECK(std::count(messages.begin(), messages.end(), "Training (no GPU)") == 1);
  CHECK(std::count(messages.begin(), messages.end(), "Starting") == 1);
}

TEST_CASE_FIXTURE(Bench, "watch: a job that starts again gets through its statuses once more") {
  const auto message = [this] { return (**store.job("a")).state.transitions.back().message; };
  Watch first(context, "a", "Pending", at_end());
  for (const char* status : {"Starting", "Downloading", "Training", "Uploading", "Interrupted",
                             "Restarting", "Starting"})
    first.status({status, status, UnixMillis(2)});
  first.status({"Starting", "Waiting to be started: nodes are not free yet", UnixMillis(3)});
  CHECK(message() == "Waiting to be started: nodes are not free yet");
  Watch second(context, "a", "Restarting", at_end());  // A server that started again.
  second.status({"Starting", "Preparing the instances for training", UnixMillis(4)});
  CHECK(message() == "Preparing the instances for training");
  for (const char* status : {"Downloading", "Training"})
    second.status({status, "message", UnixMillis(5)});
  CHECK(secondaries() == std::vector<std::string>{"Pending", "Starting", "Downloading", "Training",
                                                  "Uploading", "Interrupted", "Restarting",
                                                  "Downloading", "Training"});
}

TEST_CASE_FIXTURE(Bench, "watch: hosts' usage is kept, and a restarted server continues it") {
  const UnixMillis began = wall_time() - std::chrono::seconds(1500);
  const auto use = [](UnixMillis time) {
    const engine::Usage usage{.memory_bytes = 5, .processor_time = std::chrono::microseconds(9)};
    return std::vector<engine::HostUsage>{{"algo-1", time, usage}, {"algo-2", time, usage}};
  };
  const auto samples = [this](const std::string& host = "algo-1") {
    std::vector<store::HostSample> all;
    REQUIRE(store::MetricReader::open(folder + "/store.db")
                ->usage("a", host, UnixMillis(0), UnixMillis::max(),
                        [&all](const store::HostSample& each) { all.push_back(each); }));
    return all;
  };
  Watch first(context, "a", "Pending", at_end());
  CHECK(first.usage_pause() == std::chrono::seconds(1));
  for (int second = 0; second < 1400; ++second)
    first.usage(use(began + std::chrono::seconds(second)));
  REQUIRE(samples().size() == 1400);
  CHECK(samples()[0] == store::HostSample{.time = began, .processor = 9, .memory = 5});
  Watch second(context, "a", "Training", at_end());
  CHECK(second.usage_pause() == std::chrono::seconds(2));  // No host has reported anything yet.
  second.usage(use(began + std::chrono::seconds(1400)));
  CHECK(second.usage_pause() == std::chrono::seconds(2));
  CHECK(samples().size() <= 702);
  CHECK(samples("algo-2").size() == 1401);  // One host a turn.
  CHECK(second.usage_pause() == std::chrono::seconds(2));
  CHECK(samples("algo-2").size() <= 702);
}

TEST_CASE_FIXTURE(Bench, "watch: the usage of a host's GPUs is kept once their driver reports it") {
  const auto samples = [this] {
    std::vector<store::GpuSample> all;
    REQUIRE(store::MetricReader::open(folder + "/store.db")
                ->gpus("a", "algo-1", UnixMillis(0), UnixMillis::max(),
                       [&all](const store::GpuSample& each) { all.push_back(each); }));
    return all;
  };
  Watch watch(context, "a", "Training", at_end());
  engine::Usage usage;
  usage.gpus = {{.number = 3}};
  watch.usage({{"algo-1", UnixMillis(5), usage}});
  CHECK(samples().empty());
  usage.gpus.push_back({.number = 4, .percent = 80, .memory_bytes = 7});
  usage.gpus.push_back({.number = 5, .percent = 0, .memory_bytes = 8});
  watch.usage({{"algo-1", UnixMillis(6), usage}});
  using Samples = std::vector<store::GpuSample>;
  CHECK(samples() == Samples{{UnixMillis(6), 4, 80, 7}, {UnixMillis(6), 5, 0, 8}});
}

TEST_CASE_FIXTURE(Bench, "watch: an ended job's hosts count in the phases that they passed") {
  Watch watch(context, "a", "Training", at_end());
  platform::JobReport report = report_of(End::completed, Outcome::exited(0));
  for (const int inputs : {30, 50}) {
    job::HostTimeline& host = report.end.timelines.emplace_back();
    host.when(job::Point::launched) = UnixMillis(10);
    host.when(job::Point::inputs) = UnixMillis(inputs);
  }
  report.end.timelines.emplace_back().when(job::Point::inputs) = UnixMillis(9);  // Not launched.
  watch.ended(report);
  const auto phase = [this](job::Point end) {
    return counts.phases[static_cast<std::size_t>(end)];
  };
  CHECK(phase(job::Point::inputs).count == 2);
  CHECK(phase(job::Point::inputs).sum == std::chrono::milliseconds(60));
  CHECK(phase(job::Point::launched).count == 0);
}

TEST_CASE_FIXTURE(Bench, "watch: what comes of a job that is not in the store changes nothing") {
  Watch watch(context, "gone", "Pending", at_end());
  watch.log("algo-1", UnixMillis(2), {"info", "NUMA: CPUs 0-7"});
  watch.status({"Starting", "", UnixMillis(3)});
  CHECK_FALSE(*store.job("gone"));
  CHECK(secondaries() == std::vector<std::string>{"Pending"});
}

TEST_CASE_FIXTURE(Bench, "watch: each attempt's first NUMA report of a host is a note") {
  REQUIRE(store.put_notes("a", "network: none"));
  const auto notes = [this] { return (**store.job("a")).notes; };
  Watch watch(context, "a", "Pending", at_end());
  const auto report = [&watch](const std::string& text) {
    watch.log("algo-1", UnixMillis(2), {"info", text});
  };
  report("anything else");
  CHECK(notes() == "network: none");
  report("NUMA: CPUs 0-7");
  report("NUMA: CPUs 8-15");  // The job's own words.
  CHECK(notes() == "network: none\nNUMA: algo-1: CPUs 0-7");
  watch.status({"Restarting", "", UnixMillis(3)});
  report("NUMA: CPUs 8-15");
  CHECK(notes() == "network: none\nNUMA: algo-1: CPUs 8-15");
}

TEST_CASE_FIXTURE(Bench, "watch: the end is reported once, after the journals are kept") {
  Watch watch(context, "a", "Training", at_end());
  watch.lines("algo-1", UnixMillis(2), {});
  watch.log("algo-1", UnixMillis(2), {"warning", "a node is ill"});
  loop::run_task(loop, watch.flush());
  CHECK(finished.empty());
  watch.ended(report_of(End::completed, Outcome::exited(0)));
  CHECK(kept == 0);
  loop::run_task(loop, watch.flush());
  CHECK(kept == 1);
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].change.secondary == "Last");
  loop::run_task(loop, watch.flush());
  CHECK(finished.size() == 1);
}

}  // namespace
}  // namespace muster::jobs
