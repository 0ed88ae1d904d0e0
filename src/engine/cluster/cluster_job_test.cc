#include "engine/cluster/cluster_job.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <functional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "engine/cluster/slurm_engine.h"
#include "net/loop/testing.h"

namespace muster::cluster {
namespace {

using namespace std::chrono_literals;
using Kind = LinkEvent::Kind;
using State = ClusterJob::State;

/// Slurm's commands, by their names: they note how they are called, and say what the test wants.
constexpr const char* script = R"(#!/bin/sh
echo "$*" >> "$0-called"
[ -e "$0-fails" ] && { cat "$0-fails" >&2; exit 1; }
case "${0##*/}" in
sbatch) grep -c . "$0-called";;
*) cat "$0-says" 2> /dev/null || true;;
esac
)";

/// The nodes' messages, and those sent to them.
struct Nodes {
  explicit Nodes(loop::Loop& loop) : moved(loop) {}
  void tell(LinkEvent event) {
    event.time = wall_time();
    events.push_back(std::move(event));
    moved.notify();
  }
  std::deque<LinkEvent> events;
  std::vector<std::string> told;
  loop::Event moved;
};

class FakeAttemptLinks final : public AttemptLinks {
 public:
  explicit FakeAttemptLinks(Nodes& nodes) : nodes_(nodes) {}
  loop::Task<Result<LinkEvent>> next_event() override {
    while (nodes_.events.empty()) co_await nodes_.moved.wait();
    LinkEvent event = std::move(nodes_.events.front());
    nodes_.events.pop_front();
    co_return event;
  }
  void begin(std::chrono::milliseconds) override { nodes_.told.push_back("begin"); }
  void preempted() override { nodes_.told.push_back("preempted"); }
  void stop(const std::string& host, std::chrono::milliseconds) override {
    nodes_.told.push_back("stop " + host);
  }
  void end(const std::string& host, const std::string&) override {
    nodes_.told.push_back("end " + host);
  }
  void give(const std::string& host) override { nodes_.told.push_back("give " + host); }
  loop::Task<void> forget_results() override { co_return; }
  void again(const std::string&, const job::NodeAgain&) override {}
  bool can_go_on(const std::string&) const override { return true; }
  loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question) override {
    co_return fail(Errc::closed, host + ": no processes here");
  }
  void note(const std::string&, const std::vector<job::LogLine>&) override {}
  void done(const std::string& host) override { nodes_.told.push_back("done " + host); }
  loop::Task<void> flushed(Duration) override { co_return; }
  bool connected(const std::string&) const override { return true; }

 private:
  Nodes& nodes_;
};

class FakeLinks final : public Links {
 public:
  explicit FakeLinks(Nodes& nodes) : nodes_(nodes) {}
  std::uint16_t port() const override { return 7; }
  Result<std::shared_ptr<AttemptLinks>> expect(ExpectedNodes) override {
    nodes_.events.clear();
    return std::shared_ptr<AttemptLinks>(std::make_shared<FakeAttemptLinks>(nodes_));
  }
  void fence(const std::string&, const std::string&) override { nodes_.told.push_back("fence"); }

 private:
  Nodes& nodes_;
};

/// A job of two hosts on a cluster of scripts. The test speaks for the nodes, and brings Slurm's
/// rows: the engine does not know of the job.
struct Story {
  Story()
      : folder(*make_private_folder("/tmp", "muster-cluster-job-")), programs(loop), nodes(loop) {
    for (const char* name : {"sbatch", "squeue", "sbcast", "scancel", "scontrol", "sinfo"})
      REQUIRE(write_file(folder + "/" + name, script, 0755));
    SlurmEngine::Options options;
    options.state = folder + "/state";
    options.program = folder + "/sm";
    options.addresses = {"127.0.0.1"};
    options.folder_register = folder + "/folders";
    options.env = {{"PATH", folder + ":/usr/bin:/bin"}};
    options.open_links = [this](std::uint16_t) -> Result<std::unique_ptr<Links>> {
      return std::unique_ptr<Links>(std::make_unique<FakeLinks>(nodes));
    };
    engine = std::make_unique<SlurmEngine>(programs, options);
    REQUIRE(make_folders(options.state, 0700));
    meet(engine::JobFolder::create(folder + "/state/slurm", "demo"));
  }
  Story(const Story&) = delete;
  Story& operator=(const Story&) = delete;
  ~Story() {
    job.reset();
    engine.reset();
    static_cast<void>(remove_tree(folder));
  }
  void meet(Result<engine::JobFolder> place) {
    REQUIRE(place);
    job::Spec spec;
    spec.name = "demo";
    spec.instance_count = 2;
    spec.network = job::Network::nat;
    job = std::make_unique<ClusterJob>(*engine, spec, *std::move(place));
  }
  void run(const std::function<loop::Task<>()>& test) { loop::run_task(loop, test()); }

  /// What the command was called with, a line each time.
  std::string called(const std::string& command) const {
    return read_file(folder + "/" + command + "-called").value_or("");
  }
  void set(const std::string& file, const std::string& text) {
    REQUIRE(write_file(folder + "/" + file, text));
  }
  void row(const std::string& state) {
    const std::string argv = called("sbatch");
    const std::size_t at = argv.rfind("--job-name=") + 11;
    job->on_queue({{.id = "1",
                    .state = state,
                    .reason = "None",
                    .nodes = 2,
                    .node_list = "node[1-2]",
                    .name = argv.substr(at, argv.find(' ', at) - at)}});
  }
  void joined(const std::string& host) {
    nodes.tell({.kind = Kind::joined,
                .host = host,
                .node = "node" + host.substr(5),
                .address = "10.0.0." + host.substr(5)});
  }
  void ended(const std::string& host, int code) {
    nodes.tell({.kind = Kind::ended, .host = host, .outcome = job::Outcome::exited(code)});
  }
  loop::Task<> until(State state) {
    while (job->state() != state) co_await loop.turn();
  }
  loop::Task<> until_over() {
    while (!job->over()) co_await loop.turn();
  }
  loop::Task<> until_told(const char* what) {
    while (std::find(nodes.told.begin(), nodes.told.end(), what) == nodes.told.end())
      co_await loop.turn();
  }
  loop::Task<> until_heard() {
    while (!nodes.events.empty()) co_await loop.turn();
  }
  /// Submitted, and both hosts run.
  loop::Task<> begin() {
    CHECK(job->state() == State::none);
    const Result<void> submitted = co_await job->submit();
    REQUIRE(submitted);
    CHECK(job->state() == State::under_way);
    joined("algo-1");
    joined("algo-2");
    co_await until_told("begin");
  }

  std::string folder;
  loop::Loop loop;
  supervise::Programs programs;
  Nodes nodes;
  std::unique_ptr<SlurmEngine> engine;
  std::unique_ptr<ClusterJob> job;
};

/// Whether something listens at that address of this machine.
bool listens(const std::string& address, std::uint16_t port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  REQUIRE(::inet_pton(AF_INET, address.c_str(), &to.sin_addr) == 1);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

TEST_CASE("slurm_engine: links are listened for at the one address for nodes, if it is our own") {
  struct {
    const char* name;
    std::vector<std::string> addresses;  ///< For nodes.
    bool elsewhere;
  } const cases[] = {
      {"one of ours", {"127.0.0.1"}, false},
      {"two", {"127.0.0.1", "127.0.0.2"}, true},
      {"one of another machine, which leads here", {"192.0.2.1"}, true},
      {"a name", {"localhost"}, true},
      {"none: all that this machine has", {}, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    loop::Loop loop;
    supervise::Programs programs(loop);
    SlurmEngine::Options options;
    options.state = "/tmp/muster-no-such-state";
    options.addresses = c.addresses;
    SlurmEngine engine(programs, options);
    const Result<std::uint16_t> port = engine.port();
    REQUIRE(port);
    CHECK(listens("127.0.0.1", *port));
    CHECK(listens("127.0.0.2", *port) == c.elsewhere);
  }
}

TEST_CASE("slurm_engine: a job that no nodes can ever run is refused before it is submitted") {
  Story story;
  story.set("sinfo-says", "node1|down*|2|4000|(null)|main|gone\n");
  story.run([&]() -> loop::Task<> {
    job::Spec spec = story.job->spec();
    spec.name = "wide";
    const Result<std::unique_ptr<engine::Run>> run = co_await story.engine->start(spec);
    REQUIRE(!run);
    CHECK(run.error().code == Errc::invalid_input);
    CHECK(run.error().text ==
          "the job can never start: it requests 2 nodes, but the cluster has only 1");
    CHECK(story.called("sbatch").empty());
    CHECK(story.engine->list() == std::vector<std::string>{"demo"});
  });
}

TEST_CASE("cluster_job: from its submission to the last result") {
  Story story;
  story.run([&]() -> loop::Task<> {
    ClusterJob& job = *story.job;
    CHECK(!job.asks());
    const Result<void> nothing = co_await job.all_given();
    CHECK(!nothing);
    co_await story.begin();
    CHECK(job.asks());
    CHECK(!job.over());
    const Result<void> early = co_await job.let_go();
    REQUIRE(!early);
    CHECK(early.error().code == Errc::denied);
    const Result<void> again = co_await job.again();
    REQUIRE(!again);
    CHECK(again.error().code == Errc::invalid_input);
    story.ended("algo-1", 0);
    story.ended("algo-2", 0);
    co_await story.until(State::over);
    CHECK(job.over());
    CHECK(job.asks());
    co_await story.until_told("give algo-2");
    story.nodes.tell({.kind = Kind::given, .host = "algo-1"});
    story.nodes.tell({.kind = Kind::given, .host = "algo-2"});
    const Result<void> given = co_await job.all_given();
    CHECK(given);
    CHECK(job.state() == State::settled);
    CHECK(!job.asks());
    const Result<void> let_go = co_await job.let_go();
    CHECK(let_go);
    CHECK(story.called("scancel").empty());
  });
}

TEST_CASE("cluster_job: where it is in Slurm, and where its earlier attempts were") {
  Story story;
  story.run([&]() -> loop::Task<> {
    ClusterJob& job = *story.job;
    CHECK(!job.in_slurm());
    co_await story.begin();
    REQUIRE(job.in_slurm());
    CHECK(job.in_slurm()->id == "1");
    CHECK(job.in_slurm()->name.starts_with("muster-demo-"));
    CHECK(job.in_slurm()->nodes.empty());
    story.row("RUNNING");
    CHECK(job.in_slurm()->nodes == "node[1-2]");
    CHECK(job.in_slurm()->reason.empty());
    for (const std::string& host : job.hosts()) job.destroy(host);
    co_await story.until_over();
    const Result<void> again = co_await job.again();
    REQUIRE(again);
    CHECK(job.in_slurm()->id == "2");
    CHECK(job.in_slurm()->nodes.empty());
    CHECK(job.in_slurm()->earlier == std::vector<std::string>{"1"});
  });
}

TEST_CASE("cluster_job: results that could not be brought are named, and the job leaves Slurm") {
  Story story;
  story.run([&]() -> loop::Task<> {
    co_await story.begin();
    story.ended("algo-1", 0);
    story.ended("algo-2", 0);
    story.nodes.tell({.kind = Kind::given, .host = "algo-1"});
    story.nodes.tell({.kind = Kind::given, .host = "algo-2", .text = "No space left on device"});
    const Result<void> given = co_await story.job->all_given();
    REQUIRE(!given);
    CHECK(given.error().text ==
          "results of algo-2 on node2 could not be copied: No space left on device");
    const Result<void> let_go = co_await story.job->let_go();
    CHECK(let_go);
    CHECK(story.called("scancel") == "1\n");
  });
}

TEST_CASE("cluster_job: whose fault an end is decides without which node the next attempt begins") {
  using Happens = std::function<void(Story&)>;
  struct Case {
    const char* name;
    bool runs;             ///< Else the job is submitted only.
    Happens nodes;         ///< What nodes tell,
    Happens then;          ///< and what follows.
    const char* excluded;  ///< Empty: no node is.
  };
  const auto lose = [](const char* host) { return LinkEvent{.kind = Kind::silent, .host = host}; };
  const Happens destroy = [](Story& story) {
    for (const std::string& host : story.job->hosts()) story.job->destroy(host);
  };
  const Happens nothing = [](Story&) {};
  const Case cases[] = {
      {"unknown: the node of the host that was lost", true,
       [&](Story& story) {
         story.nodes.tell(lose("algo-2"));
         story.ended("algo-1", 1);
       },
       destroy, "node2"},
      {"unknown: no node where all were lost", true,
       [&](Story& story) {
         story.nodes.tell(lose("algo-1"));
         story.nodes.tell(lose("algo-2"));
       },
       destroy, ""},
      {"unknown: the node that is said to be broken", true,
       [](Story& story) {
         story.job->set_broken("algo-1");
         story.ended("algo-1", 1);
         story.ended("algo-2", 1);
       },
       nothing, "node1"},
      {"left out: Slurm does that by itself", true,
       [&](Story& story) {
         story.nodes.tell(lose("algo-2"));
         story.ended("algo-1", 1);
       },
       [](Story& story) { story.row("NODE_FAIL"); }, ""},
      {"named: by sbcast", false, nothing,
       [](Story& story) {
         story.set("sbcast-fails", "sbcast: error: REQUEST_FILE_BCAST(node9): Unspecified error\n");
         story.row("RUNNING");
       },
       "node9"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Story story;
    story.run([&]() -> loop::Task<> {
      if (c.runs) {
        co_await story.begin();
      } else {
        const Result<void> submitted = co_await story.job->submit();
        REQUIRE(submitted);
      }
      c.nodes(story);
      co_await story.until_heard();
      c.then(story);
      co_await story.until_over();
      const Result<void> again = co_await story.job->again();
      REQUIRE(again);
      CHECK(story.job->state() == State::under_way);
      CHECK(story.job->attempt() == 2);
      const std::vector<std::string> calls = split(story.called("sbatch"), '\n');
      const std::string wanted = "--exclude=" + std::string(c.excluded) + " ";
      REQUIRE(calls.size() >= 2);
      CHECK((calls[1].find(wanted) != std::string::npos) == (*c.excluded != '\0'));
      CHECK((calls[1].find("--exclude") == std::string::npos) == (*c.excluded == '\0'));
    });
  }
}

TEST_CASE(
    "cluster_job: if another attempt is refused, there is none, and the old links are closed") {
  Story story;
  story.run([&]() -> loop::Task<> {
    co_await story.begin();
    story.ended("algo-1", 1);
    story.ended("algo-2", 1);
    co_await story.until(State::over);
    story.set("sbatch-fails", "sbatch: error: Requested node configuration\n");
    const Result<void> again = co_await story.job->again();
    CHECK(!again);
    CHECK(story.job->state() == State::none);
    CHECK(!story.job->asks());
    const Result<void> given = co_await story.job->all_given();
    REQUIRE(!given);
    CHECK(given.error().code == Errc::closed);
    const Result<void> let_go = co_await story.job->let_go();
    CHECK(let_go);
  });
}

TEST_CASE("cluster_job: whose signal the hosts heard is asked once an attempt") {
  Story story;
  story.set("scontrol-says", "JobId=1 PreemptTime=2026-11-22T21:35:00 x=y\n");
  story.run([&]() -> loop::Task<> {
    co_await story.begin();
    story.nodes.tell({.kind = Kind::signalled, .host = "algo-1"});
    story.nodes.tell({.kind = Kind::signalled, .host = "algo-2"});
    co_await story.until_told("preempted");
    const std::string calls = story.called("scontrol");
    const std::size_t first = calls.find("show job");
    CHECK(first != std::string::npos);
    CHECK(calls.find("show job", first + 1) == std::string::npos);
    story.ended("algo-1", 1);
    story.ended("algo-2", 1);
    co_await story.until(State::over);
    CHECK(story.job->present().back().kind == engine::Event::Kind::preempted);
  });
}

TEST_CASE("cluster_job: a later engine finds the attempt, or that there is none") {
  Story story;
  story.run([&]() -> loop::Task<> {
    const Result<bool> none = co_await story.job->find_again();
    REQUIRE(none);
    CHECK(!*none);
    CHECK(story.job->state() == State::none);
    co_await story.begin();
    const std::string path = story.job->path();
    story.job.reset();
    story.meet(engine::JobFolder::take(path));
    const Result<bool> found = co_await story.job->find_again();
    REQUIRE(found);
    CHECK(*found);
    CHECK(story.job->state() == State::under_way);
    CHECK(story.called("sbatch").find('\n') == story.called("sbatch").size() - 1);
  });
}

}  // namespace
}  // namespace muster::cluster
