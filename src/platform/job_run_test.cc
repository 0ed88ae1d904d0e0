#include "platform/job_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/remove_tree.h"
#include "loop/testing.h"

namespace muster::platform {
namespace {

using namespace std::chrono_literals;
using job::Outcome;
using job::Phase;

/// A host without a steward: the test writes its journal.
class FakeHost {
 public:
  FakeHost(std::string name, std::string folder)
      : name_(std::move(name)), folder_(std::move(folder)) {
    REQUIRE(make_folders(folder_ + "/result/model"));
  }
  const std::string& name() const { return name_; }
  const std::string& folder() const { return folder_; }

  FakeHost& phase(Phase phase) {
    return record(job::Message::phase, encode(job::PhaseChange{phase, ""}));
  }
  FakeHost& says(int rank, const std::string& text) {
    return record(job::Message::lines, encode(job::Lines{rank, job::Stream::out, false, text}));
  }
  FakeHost& verdict(const job::Verdict& verdict) {
    return record(job::Message::verdict, to_text(job::to_json(verdict)));
  }
  FakeHost& ends(Outcome outcome, bool stopped = false) {
    phase(Phase::uploading);
    return record(job::Message::outcome, encode(job::HostEnd{name_, outcome, false, stopped}));
  }
  FakeHost& record(job::Message kind, const std::string& payload) {
    std::string bytes;
    job::append_record(bytes, ++seq_, UnixMillis(1000), kind, payload);
    const Fd file(
        ::open((folder_ + "/journal").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    REQUIRE(write_all(file.get(), bytes));
    return *this;
  }

 private:
  std::string name_;
  std::string folder_;
  std::uint64_t seq_ = 0;
};

struct FakeState {
  explicit FakeState(loop::Loop& loop) : moved(loop) {}
  void end(const std::string& host, Outcome outcome = Outcome::exited(0)) {
    ended.push_back({host, std::move(outcome)});
    moved.notify();
  }
  std::deque<engine::Run::Ended> ended;
  loop::Event moved;
  std::map<std::string, FakeHost> hosts;
  std::function<void(const std::string&, std::chrono::milliseconds)> on_stop;
  std::string asked;
  std::optional<Error> upload_error;
  bool kept = false;
};

class FakeRun final : public engine::Run {
 public:
  explicit FakeRun(FakeState& state) : state_(state) {
    for (const auto& [name, host] : state.hosts) places_.push_back({name, host.folder()});
  }
  const std::vector<engine::HostPlace>& hosts() const override { return places_; }
  loop::Task<Result<Ended>> next_end() override {
    if (told_ == places_.size()) co_return fail(Errc::closed, "all have ended");
    while (state_.ended.empty()) co_await state_.moved.wait();
    Ended next = state_.ended.front();
    state_.ended.pop_front();
    ++told_;
    co_return next;
  }
  void stop(const std::string& host, std::chrono::milliseconds grace) override {
    state_.asked += host + " " + std::to_string(grace.count()) + ";";
    if (state_.on_stop) state_.on_stop(host, grace);
  }
  void destroy(const std::string& host) override { state_.asked += "destroy " + host + ";"; }
  loop::Task<Result<std::string>> upload(bool completed) override {
    state_.asked += completed ? "upload completed;" : "upload;";
    if (state_.upload_error) co_return *state_.upload_error;
    co_return std::string("{}");
  }
  loop::Task<Result<void>> release(bool keep) override {
    state_.kept = keep;
    co_return Result<void>();
  }
  std::string folder() const override { return "/fake"; }

 private:
  FakeState& state_;
  std::vector<engine::HostPlace> places_;
  std::size_t told_ = 0;
};

class FakeEngine final : public engine::Engine {
 public:
  explicit FakeEngine(FakeState& state) : state_(state) {}
  Result<std::unique_ptr<engine::Run>> start(const job::Spec&) override {
    return std::unique_ptr<engine::Run>(std::make_unique<FakeRun>(state_));
  }
  std::vector<std::string> list() override { return {}; }
  Result<std::unique_ptr<engine::Run>> attach(const std::string& job) override {
    return fail(Errc::not_found, job);
  }

 private:
  FakeState& state_;
};

/// Tells everything as one text, and the test when something came.
class FakeSink final : public Sink {
 public:
  explicit FakeSink(loop::Loop& loop) : came_(loop), opened_(loop) {}
  void status(const StatusLine& line) override { text += line.status + ";"; }
  void lines(const std::string& host, UnixMillis, const job::Lines& lines) override {
    text += host + ":" + std::to_string(lines.rank) + " " + lines.bytes;
  }
  void log(const std::string& host, UnixMillis, const job::LogLine& line) override {
    text += host + " logs " + line.text + ";";
  }
  loop::Task<> flush() override {
    came_.notify();
    while (closed) co_await opened_.wait();
  }
  loop::Task<> until(std::string part) {
    while (text.find(part) == std::string::npos) co_await came_.wait();
  }
  void open() {
    closed = false;
    opened_.notify();
  }
  std::string text;
  bool closed = false;  ///< Takes nothing more, as a pager that waits.

 private:
  loop::Event came_;
  loop::Event opened_;
};

struct Bench {
  explicit Bench(int hosts)
      : folder(*make_private_folder("/tmp", "muster-run-")),
        state(loop),
        engine(state),
        sink(loop),
        requests(loop) {
    for (const std::string& name : job::host_names(hosts))
      state.hosts.emplace(name, FakeHost(name, folder + "/" + name));
    spec.name = "demo";
    spec.instance_count = hosts;
    spec.output_folder = folder + "/out";
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { static_cast<void>(remove_tree(folder)); }

  FakeHost& host(const std::string& name) { return state.hosts.at(name); }
  loop::Task<> body() {
    Result<JobReport> done = co_await run_job(loop, engine, spec, options, sink, requests);
    REQUIRE(done);
    report = *std::move(done);
  }
  void run() { loop::run_task(loop, body()); }

  std::string folder;
  loop::Loop loop;
  FakeState state;
  FakeEngine engine;
  FakeSink sink;
  Requests requests;
  job::Spec spec;
  JobRunOptions options;
  JobReport report;
};

TEST_CASE("job run: a job's lines and statuses come in order, its results lie in place") {
  Bench bench(2);
  for (const char* name : {"algo-1", "algo-2"}) {
    FakeHost& host = bench.host(name);
    host.phase(Phase::downloading).phase(Phase::training).says(0, "hello\n");
    host.verdict({}).ends(Outcome::exited(0));
    REQUIRE(write_file(host.folder() + "/result/model/" + name, "x"));
    bench.state.end(name);
  }
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::completed);
  CHECK(bench.sink.text.substr(0, 9) == "Starting;");
  CHECK(bench.sink.text.find("algo-2:0 hello\n") != std::string::npos);
  CHECK(bench.sink.text.ends_with("Uploading;Completed;"));
  CHECK(bench.report.results.written);
  CHECK(read_file(bench.folder + "/out/model/algo-2").value_or("") == "x");
  CHECK(!bench.state.kept);
}

TEST_CASE("job run: results go to S3 before the job's last word; if they cannot, it failed") {
  for (const bool works : {true, false}) {
    Bench bench(1);
    bench.spec.output_folder.clear();
    bench.spec.s3_output = "s3://bucket/out";
    if (!works) bench.state.upload_error = fail(Errc::denied, "s3://bucket/out/x: access denied");
    bench.host("algo-1").phase(Phase::training).ends(Outcome::exited(0));
    bench.state.end("algo-1");
    bench.run();
    CHECK(bench.state.asked == "upload completed;");
    CHECK(bench.report.uploaded == (works ? "{}" : ""));
    CHECK(bench.state.kept == !works);
    const JobEnd::Status want = works ? JobEnd::Status::completed : JobEnd::Status::failed;
    CHECK(bench.report.end.status == want);
    if (!works) CHECK(bench.report.end.reason == "s3://bucket/out/x: access denied");
  }
}

TEST_CASE("job run: what is written just before a steward's end is not lost") {
  Bench bench(1);
  const auto story = [&]() -> loop::Task<> {
    co_await bench.sink.until("Starting;");
    bench.host("algo-1").phase(Phase::training).says(0, "last words\n").ends(Outcome::exited(1));
    bench.state.end("algo-1");
  };
  bench.loop.spawn(story());
  bench.run();
  CHECK(bench.sink.text.find("last words") != std::string::npos);
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.end.reason == "train on algo-1: exit code 1");
}

TEST_CASE("job run: a failure ends hosts that do not end by themselves") {
  Bench bench(2);
  bench.options.times.failure_window = 10ms;
  bench.state.on_stop = [&](const std::string& host, std::chrono::milliseconds) {
    bench.host(host).ends(Outcome::signaled(9));
    bench.state.end(host);
  };
  job::Verdict verdict;
  verdict.outcome = Outcome::lost("no heartbeat for 5 s");
  verdict.host = "algo-2";
  verdict.process = "host";
  bench.host("algo-2").phase(Phase::training);
  bench.host("algo-1").phase(Phase::training).verdict(verdict).ends(Outcome::exited(1));
  bench.state.end("algo-1");
  bench.run();
  CHECK(bench.state.asked == "algo-2 0;");
  CHECK(bench.report.end.verdict.host == "algo-2");
}

TEST_CASE("job run: a stop and a kill reach the hosts also while nobody reads the output") {
  Bench bench(1);
  bench.host("algo-1").phase(Phase::training).says(0, "much\n");
  bench.sink.closed = true;
  const auto story = [&]() -> loop::Task<> {
    co_await bench.sink.until("much");
    bench.requests.stop();
    loop::Timer moment(bench.loop);
    while (bench.state.asked.empty()) co_await moment.after(1ms);
    CHECK(bench.state.asked == "algo-1 30000;");
    bench.requests.kill();
    while (bench.state.asked == "algo-1 30000;") co_await moment.after(1ms);
    CHECK(bench.state.asked == "algo-1 30000;algo-1 0;");
    bench.host("algo-1").ends(Outcome::signaled(9), true);
    bench.state.end("algo-1");
    bench.sink.open();
  };
  bench.loop.spawn(story());
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::stopped);
  CHECK(bench.sink.text.ends_with("Stopped;"));
  CHECK(bench.sink.text.find("Stopping;") != std::string::npos);
}

TEST_CASE("job run: results that cannot be put in place fail the job and are kept") {
  Bench bench(1);
  REQUIRE(write_file(bench.folder + "/file", ""));
  bench.spec.output_folder = bench.folder + "/file/out";
  bench.host("algo-1").phase(Phase::training).verdict({}).ends(Outcome::exited(0));
  bench.state.end("algo-1");
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.trouble.find("kept in /fake") != std::string::npos);
  CHECK(bench.state.kept);
}

TEST_CASE("job run: a damaged journal fails the job") {
  Bench bench(1);
  bench.options.times.failure_window = 10ms;
  REQUIRE(write_file(bench.host("algo-1").folder() + "/journal", std::string(100, 'x')));
  bench.state.on_stop = [&](const std::string& host, std::chrono::milliseconds) {
    bench.state.end(host);
  };
  bench.run();
  CHECK(bench.report.end.status == JobEnd::Status::failed);
  CHECK(bench.report.end.verdict.process == "journal");
}

}  // namespace
}  // namespace muster::platform
