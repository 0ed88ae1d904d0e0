#include "server/jobs/runner_world.h"

namespace muster::jobs {
namespace {

TEST_CASE("runner: an access key has a limited number of jobs that wait, after a restart too") {
  World world;
  world.waiting_max = 2;
  world.serve();
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("big", 2);
    co_await w.until_begun("big");
    w.submit("one");
    CHECK(w.runner->check_room("AK"));
    w.submit("two");
    CHECK(w.runner->check_room("AK").error().code == "ResourceLimitExceeded");
    CHECK(w.runner->check_room("AK").error().message ==
          "This access key has 2 waiting jobs and can have at most 2; see jobs.waiting_max in the "
          "server's config");
    CHECK(w.runner->check_room("OTHER"));
    w.read_at_start = std::chrono::milliseconds(0);
    w.serve();
    REQUIRE(w.runner->start());
    CHECK(w.runner->is_reading());
    CHECK(!w.runner->check_room("AK"));
    CHECK(w.runner->check_room("OTHER"));
    co_await w.until([&w] { return !w.runner->is_reading(); });
    CHECK(!w.runner->check_room("AK"));
    w.stop("two");
    co_await w.until_ended("two");
    CHECK(w.runner->check_room("AK"));
  };
  world.run(story(world));
}

TEST_CASE(
    "runner: calls are answered while a start reads jobs, and no job starts before its turn") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("big", 2);
    co_await w.until_begun("big");
    for (const char* name : {"a", "b", "c"}) w.submit(name, 2);
    w.submit("urgent", 2, "AK", 9);
    complete(w.job("big"));
    w.read_at_start = std::chrono::milliseconds(0);
    w.serve();
    REQUIRE(w.runner->start());
    // None of them is in the queue yet.
    CHECK(!w.runner->place("a"));
    CHECK(w.runner->waiting() == 4);
    w.submit("late", 2);
    w.stop("b");
    CHECK(w.runner->passes() == 0);
    co_await w.until([&w] { return !w.runner->is_reading(); });
    co_await w.until_ended("b");
    CHECK(w.secondary("b") == "Stopped");
    co_await w.until_begun("urgent");
    CHECK(w.runner->place("a")->place == 1);
    CHECK(w.runner->place("c")->place == 2);
    CHECK(w.runner->place("late")->place == 3);
  };
  world.run(story(world));
}

/// A machine with two GPUs, all of which each job gets.
void use_gpus(World& world) {
  world.config = R"({"instance_types": {"ml.one": {"gpus": 2}}, "registries": ["*"]})";
  world.fit = FitGpus{.count = 2};
}

TEST_CASE("runner: a GPU that broke under a job is not promised to the next one") {
  World world;
  use_gpus(world);
  world.serve();
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("first");
    w.submit("second");
    co_await w.until_begun("first");
    w.fit = FitGpus{.count = 1, .unfit = {"gpu=0 needs recovery: Reset"}};
    job::HostEnd end{"algo-1", Outcome::exited(1)};
    end.overruns = {"GPU 0 fell off the bus (Xid 79): not your code"};
    end.card = job::Card::broken;
    auto& host = w.job("first").hosts.begin()->second;
    host.phase(Phase::training).record(job::Message::outcome, encode(end));
    host.phase(Phase::failed).ends();
    co_await w.until_ended("first");
    co_await w.until([&w] { return w.looks == 1; });
    co_await w.until([&w] { return w.runner->queue().capacity().at("gpu") == 1; });
    CHECK(!w.cluster.has("second"));
    CHECK(w.runner->why_waiting("second") ==
          "Waiting for free hosts: place 1 of 1; cannot start: gpus: 2 requested, 1 available "
          "(gpu=0 needs recovery: Reset)");
    const auto refused = w.runner->check(*api::job_request(input_of("third", 1, "host")));
    CHECK(refused.error().message.find("gpu=0 needs recovery: Reset") != std::string::npos);
  };
  world.run(story(world));
  CHECK(world.looks == 1);
}

TEST_CASE("runner: while jobs wait for GPUs, one that recovered is given out again") {
  World world;
  use_gpus(world);
  world.gpu_look = std::chrono::milliseconds(1);
  world.fit = FitGpus{.count = 1, .unfit = {"gpu=0 needs recovery: Reset"}};
  world.serve();
  const auto story = [](World& w) -> loop::Task<> {
    REQUIRE(w.runner->start());
    w.submit("waits");
    co_await w.until([&w] { return w.looks > 1; });
    CHECK(!w.cluster.has("waits"));
    w.fit = FitGpus{.count = 2};
    co_await w.until_begun("waits");
    CHECK(w.runner->queue().notes().empty());
    complete(w.job("waits"));
    co_await w.until_ended("waits");
  };
  world.run(story(world));
}

TEST_CASE("runner: only a job that was asked to stop is killed") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    engine::FakeHost& host = w.job("a").host("algo-1");
    host.manner = engine::FakeHost::Manner::deaf;
    host.phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
    w.runner->kill("none");
    w.runner->kill("a");
    for (int turn = 0; turn < 10; ++turn) co_await w.loop.turn();
    CHECK(w.job("a").asked.empty());
    w.stop("a");
    co_await w.until([&w] { return !w.job("a").asked.empty(); });
    CHECK(w.job("a").asked.find("destroy") == std::string::npos);
    w.job("a").on_stop = [&host](const std::string&, std::chrono::milliseconds grace) {
      CHECK(grace == std::chrono::milliseconds(0));
      host.outcome(Outcome::signaled(9), true).ends();
    };
    w.runner->kill("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
}

TEST_CASE("runner: a silent job is known as one until it speaks, and does not count as hanging") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").phase(Phase::downloading).phase(Phase::training);
    w.submit("a");  // The fake engine's time is 1970: its last line is old.
    co_await w.until([&w] { return w.runner->standstill("a").has_value(); });
    CHECK(w.runner->standstill("a")->verdict.empty());
    CHECK(!w.runner->standstill("b"));
    CHECK(w.runner->hanging() == 0);
    w.job("a").host("algo-1").says(0, "here\n");
    co_await w.until([&w] { return !w.runner->standstill("a"); });
    w.stop("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(!world.runner->standstill("a"));
}

TEST_CASE("runner: what running hosts use and do is known, and waiting jobs have none") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    for (auto& [name, host] : w.job("a", 2).hosts) {
      host.usage = job::Usage{.memory_bytes = 5};
      host.stacks.emplace().host = name;
      host.phase(Phase::downloading).phase(Phase::training);
    }
    w.submit("a", 2);
    w.submit("waits", 2);
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
    const std::vector<job::HostUsage> used = co_await w.runner->usage("a");
    REQUIRE(used.size() == 2);
    CHECK(used[1].usage.memory_bytes == 5);
    const auto all = w.runner->usages(std::chrono::hours(1));
    REQUIRE(all.size() == 1);
    CHECK(all[0].first == "a");
    CHECK(all[0].second.size() == 2);
    CHECK(w.runner->reach() == platform::Reach{2, 0});
    CHECK(w.runner->why_waiting("a").empty());
    const auto seen = co_await w.runner->look("a", job::Calls::python);
    REQUIRE(seen);
    CHECK(seen->size() == 2);
    for (const char* name : {"waits", "none"}) {
      CAPTURE(name);
      const std::vector<job::HostUsage> none = co_await w.runner->usage(name);
      CHECK(none.empty());
      const auto unseen = co_await w.runner->look(name, job::Calls::python);
      CHECK(!unseen);
      if (!unseen) CHECK(unseen.error().code == Errc::closed);
    }
    for (const char* name : {"waits", "a"}) w.stop(name);
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.runner->reach() == platform::Reach{0, 0});
  CHECK(world.runner->usages(std::chrono::hours(1)).empty());
}

TEST_CASE("runner: the note about a Slurm job has what is known") {
  const struct {
    const char* name;
    const char* slurm;
    const char* notes;
  } cases[] = {
      {"it has not been queued", R"({"JobId": "", "Nodes": "", "EarlierJobIds": []})", ""},
      {"it had no node", R"({"JobId": "17", "Nodes": "", "EarlierJobIds": []})", "Slurm job 17"},
      {"the first attempt", R"({"JobId": "17", "Nodes": "n1", "EarlierJobIds": []})",
       "Slurm job 17 on n1"},
      {"a later attempt without a node", R"({"JobId": "17", "Nodes": "", "EarlierJobIds": ["9"]})",
       "Slurm job 17; earlier attempts: 9"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    World world;
    world.slurm = Json::parse(c.slurm);
    const auto story = [](World& w) -> loop::Task<> {
      complete(w.job("a"));
      w.submit("a");
      co_await w.until_ended("a");
    };
    world.run(story(world));
    CHECK(world.stored("a").notes == c.notes);
  }
}

}  // namespace
}  // namespace muster::jobs
