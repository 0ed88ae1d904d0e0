#include <doctest/doctest.h>

#include <set>

#include "server/jobs/job_notes.h"
#include "server/jobs/runner_world.h"
#include "server/jobs/until_stored.h"

namespace muster::jobs {
namespace {

TEST_CASE("runner: a job runs from its submission to its end, and its key ends with it") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    complete(w.job("a", 2));
    w.submit("a", 2);
    co_await w.until([&w] { return w.ring->find("JOBKEY1") != nullptr; });
    CHECK(w.ring->find("JOBKEY1")->policy.limited);
    co_await w.until_ended("a");
  };
  world.run(story(world));
  const store::Job job = world.stored("a");
  CHECK(job.state.status == store::Status::completed);
  CHECK(secondaries(job) == std::vector<std::string>{"Pending", "Starting", "Downloading",
                                                     "Training", "Uploading", "Completed"});
  CHECK(world.ring->find("JOBKEY1") == nullptr);
  CHECK(::access((world.folder + "/keys/a").c_str(), F_OK) != 0);
}

TEST_CASE("runner: jobs wait for room, and start in their order") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("a", 2);
    w.submit("b", 1);
    w.submit("c", 1);
    co_await w.until_begun("a");
    CHECK(!w.cluster.has("b"));
    CHECK(w.secondary("b") == "Pending");
    complete(w.job("a"));
    co_await w.until_begun("b");
    co_await w.until_begun("c");
    complete(w.job("b"));
    complete(w.job("c"));
    co_await w.until_ended("b");
    co_await w.until_ended("c");
  };
  world.run(story(world));
  CHECK(world.stored("c").state.status == store::Status::completed);
}

constexpr std::size_t many = 300;

std::string name_of(std::size_t number) {
  return "w" + std::to_string(number);
}

TEST_CASE("runner: many jobs submitted or stopped at once take one pass, also after a restart") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("big", 2);
    co_await w.until_begun("big");
    const std::int64_t before = w.runner->passes();
    for (std::size_t number = 0; number < many; ++number) w.submit(name_of(number));
    for (int turn = 0; turn < 10; ++turn) co_await w.loop.turn();
    CHECK(w.runner->waiting() == many);
    CHECK(w.runner->passes() - before == 1);
    for (std::size_t number = 0; number < many / 2; ++number) w.stop(name_of(number));
    for (int turn = 0; turn < 10; ++turn) co_await w.loop.turn();
    CHECK(w.runner->waiting() == many / 2);
    CHECK(w.runner->passes() - before <= 5);
  };
  world.run(story(world));
  world.serve();
  const auto again = [](World& w) -> loop::Task<> {
    REQUIRE(w.runner->start());
    while (w.runner->waiting() < many / 2) co_await w.loop.turn();
    for (int turn = 0; turn < 10; ++turn) co_await w.loop.turn();
    CHECK(w.runner->waiting() == many / 2);
    CHECK(w.runner->passes() <= 2);
  };
  world.run(again(world));
}

TEST_CASE("runner: a job that is stopped while it waits runs nowhere") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.submit("a", 2);
    w.submit("b", 2);
    co_await w.until_begun("a");
    w.stop("b");
    CHECK(!store::is_terminal(w.stored("b").state.status));  // A call changes nothing itself.
    co_await w.until([&w] { return store::is_terminal(w.stored("b").state.status); });
    complete(w.job("a"));
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("b").state.status == store::Status::stopped);
  CHECK(!world.cluster.has("b"));
}

TEST_CASE("runner: an image is pulled in the job's turn, and what it was is noted") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a", 1, "AK", 0, "team/box");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  const store::Job job = world.stored("a");
  CHECK(job.state.status == store::Status::completed);
  const std::vector<std::string> names = secondaries(job);
  REQUIRE(names.size() > 3);
  CHECK(names[1] == "Starting");
  CHECK(names[2] == "Downloading");
  CHECK(job.notes.starts_with("runs image docker.io/team/box:latest, " + image_digest));
  REQUIRE(world.wishes.size() == 1);
  CHECK(world.wishes[0].digest.empty());
}

TEST_CASE("runner: where a job ran on a Slurm cluster is noted at its end") {
  World world;
  world.slurm = {{"JobId", "17"},
                 {"Name", "muster-a"},
                 {"Nodes", "node[1-2]"},
                 {"Reason", ""},
                 {"EarlierJobIds", {"15", "16"}}};
  const auto story = [](World& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a", 1, "AK", 0, "team/box");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  const std::vector<std::string> notes = split(world.stored("a").notes, '\n');
  CHECK(notes.size() > 1);
  CHECK(notes.back() == "Slurm job 17 on node[1-2]; earlier attempts: 15, 16");
}

TEST_CASE("runner: a stop ends a pull, and a failed pull is the job's fault") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.pull_hangs = true;
    w.submit("a", 2, "AK", 0, "team/box");
    co_await w.until([&w] { return w.secondary("a") == "Downloading"; });
    CHECK(w.stored("a").state.transitions.back().message ==
          "Downloading the training image, for 3600 s at most");
    w.stop("a");
    co_await w.until_ended("a");
    w.pull_hangs = false;
    w.no_image = true;
    w.submit("b", 2, "AK", 0, "team/box");
    co_await w.until_ended("b");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
  CHECK(world.stored("b").failure_reason == "ClientError: the image cannot be pulled: gone");
}

TEST_CASE("runner: a job that is started again gets the image that its tag meant at first") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.pull_hangs = true;
    w.submit("a", 1, "AK", 0, "team/box:v1");
    co_await w.until([&w] { return w.secondary("a") == "Downloading"; });
    // Noted, and then the server ended before a host began.
    REQUIRE(w.store.put_notes("a", image_note("docker.io/team/box:v1", image_digest)));
    w.serve();
    w.pull_hangs = false;
    complete(w.job("a"));
    REQUIRE(w.runner->start());
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
  REQUIRE(world.wishes.size() == 2);
  CHECK(world.wishes[1].digest == image_digest);
}

TEST_CASE("runner: a stop reaches the hosts with the config's grace") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    engine::FakeHost& host = w.job("a").host("algo-1");
    host.phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
    w.job("a").on_stop = [&host](const std::string&, std::chrono::milliseconds grace) {
      CHECK(grace == std::chrono::seconds(120));
      host.outcome(Outcome::signaled(15), true).ends(Outcome::exited(0));
    };
    w.stop("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
}

TEST_CASE("runner: a failure's reason is the first cause, with its last words") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    engine::FakeHost& host = w.job("a").host("algo-1");
    job::Verdict verdict;
    verdict.host = "algo-1";
    verdict.process = "rank 0";
    verdict.outcome = Outcome::exited(3);
    verdict.last_lines = "ValueError: no data\n";
    host.phase(Phase::training).verdict(verdict).outcome(Outcome::exited(3)).ends();
    w.submit("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  const store::Job job = world.stored("a");
  CHECK(job.state.status == store::Status::failed);
  CHECK(job.failure_reason.starts_with("AlgorithmError: "));
  CHECK(job.failure_reason.find("ValueError: no data") != std::string::npos);
}

TEST_CASE("runner: a job that cannot be started ends, and the next one starts") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.no_python = true;
    w.submit("a", 2);
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
    w.no_python = false;
    w.cluster.full_disk = true;
    w.submit("b", 2);
    co_await w.until([&w] { return store::is_terminal(w.stored("b").state.status); });
    w.cluster.full_disk = false;
    complete(w.job("c", 2));
    w.submit("c", 2);
    co_await w.until_ended("c");
  };
  world.run(story(world));
  CHECK(world.stored("a").failure_reason == "ClientError: the image host: python3: not found");
  CHECK(world.stored("b").failure_reason.starts_with("InternalServerError: "));
  CHECK(world.stored("c").state.status == store::Status::completed);
}

TEST_CASE("runner: a restarted server continues with the running jobs, and reports nothing twice") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    w.submit("waits", 2);
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
  };
  world.run(before(world));
  world.serve();
  REQUIRE(world.runner->start());
  CHECK(world.ring->find("JOBKEY1") != nullptr);  // From the first call on.
  const auto after = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").verdict({}).outcome(Outcome::exited(0)).ends();
    co_await w.until_ended("a");
    co_await w.until_begun("waits");
    complete(w.job("waits"));
    co_await w.until_ended("waits");
  };
  world.run(after(world));
  CHECK(secondaries(world.stored("a")) == std::vector<std::string>{"Pending", "Starting",
                                                                   "Downloading", "Training",
                                                                   "Uploading", "Completed"});
  CHECK(world.keys_made == 4);  // Each has one for its results too; who ran kept them.
}

TEST_CASE("runner: a job that was stopped before it began ends at the next start") {
  World world;
  const Json input = input_of("a", 1, "host");
  REQUIRE(world.store.submit({"a", "arn:a", to_text(input), {}, wall_time(), ""}));
  REQUIRE(world.store.set_status(
      "a", {store::Status::stopping, "Stopping", "Stopping the training job", wall_time()}));
  world.serve();
  REQUIRE(world.runner->start());
  const auto story = [](World& w) -> loop::Task<> {
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
  CHECK(!world.cluster.has("a"));
}

TEST_CASE("runner: a request that cannot be read any more fails its job alone") {
  World world;
  REQUIRE(world.store.submit({"a", "arn:a", "{}", {}, wall_time(), ""}));
  world.serve();
  REQUIRE(world.runner->start());
  const auto story = [](World& w) -> loop::Task<> {
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
  };
  world.run(story(world));
  CHECK(world.stored("a").failure_reason.starts_with("ClientError: "));
}

TEST_CASE("runner: a job that runs and cannot be read any more is ended, and the server starts") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
  };
  world.run(before(world));
  REQUIRE(world.store.remove("a"));
  REQUIRE(world.store.submit({"a", "arn:a", "{}", {}, wall_time(), ""}));
  world.serve();
  REQUIRE(world.runner->start());
  const auto after = [](World& w) -> loop::Task<> {
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
  };
  world.run(after(world));
  CHECK(world.stored("a").failure_reason.starts_with("ClientError: "));
  CHECK(!world.cluster.has("a"));
}

TEST_CASE("runner: a name reused while its job is being removed waits for that") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    engine::FakeJob& first = w.job("a");
    first.host("algo-1").phase(Phase::training);
    w.submit("a");
    co_await w.until_begun("a");
    w.job("a").host("algo-1").verdict({}).outcome(Outcome::exited(0)).ends();
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
    REQUIRE(w.store.remove("a"));
    w.runner->deleted("a");
    w.submit("a");  // The engine may have the first one still.
    co_await w.until([&w] { return w.keys_made == 4; });
    co_await w.until_begun("a");
    complete(w.job("a"));
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
}

TEST_CASE("runner: resources that a server left after a job's end are released at the next start") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    complete(w.job("a"));
    w.job("a").release_error = fail(Errc::system, "busy");
    w.submit("a");
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
    co_await w.until([&w] { return ::access((w.folder + "/keys/a").c_str(), F_OK) != 0; });
  };
  world.run(before(world));
  REQUIRE(world.cluster.has("a"));
  world.cluster.job("a").release_error.reset();
  world.serve();
  REQUIRE(world.runner->start());
  const auto after = [](World& w) -> loop::Task<> {
    co_await w.until([&w] { return !w.cluster.has("a"); });
  };
  world.run(after(world));
}

TEST_CASE("runner: a key of an ended job is removed at the next start, whatever the engine knows") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a");
    co_await w.until_ended("a");
  };
  world.run(before(world));
  // As a server leaves them that is killed while it removes or writes them.
  for (const char* end : {"", ".results", ".partial-0badcafe", ".results.partial-0badcafe"}) {
    CAPTURE(end);
    const std::string left = world.folder + "/keys/a" + end;
    REQUIRE(write_file(left, "secret", 0600));
    world.serve();
    REQUIRE(world.runner->start());
    const auto after = [](World& w, std::string file) -> loop::Task<> {
      co_await w.until([&file] { return ::access(file.c_str(), F_OK) != 0; });
    };
    world.run(after(world, left));
  }
}

TEST_CASE("runner: a stop reaches a job that waits for its namesake to be cleared away") {
  World world;
  const auto story = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").phase(Phase::training);
    w.submit("a");
    co_await w.until_begun("a");
    w.job("a").host("algo-1").verdict({}).outcome(Outcome::exited(0)).ends();
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
    REQUIRE(w.store.remove("a"));
    w.runner->deleted("a");
    w.submit("a");
    w.stop("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
  CHECK(world.keys_made == 2);  // The second one never began.
}

TEST_CASE("runner: a stop accepted by an earlier server is carried out by the next") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    engine::FakeHost& host = w.job("a").host("algo-1");
    host.manner = engine::FakeHost::Manner::deaf;
    host.phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
    w.stop("a");
    co_await w.until([&w] { return !w.job("a").asked.empty(); });
  };
  world.run(before(world));
  world.serve();
  world.job("a").host("algo-1").manner = engine::FakeHost::Manner::obeys;
  REQUIRE(world.runner->start());
  const auto after = [](World& w) -> loop::Task<> { co_await w.until_ended("a"); };
  world.run(after(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
}

TEST_CASE("runner: a job's time limit counts what it ran under an earlier server") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    w.job("a").host("algo-1").phase(Phase::downloading).phase(Phase::training);
    w.submit("a");
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
  };
  world.run(before(world));
  world.ahead = std::chrono::hours(24);  // As long as a job may run that says nothing of it.
  world.serve();
  REQUIRE(world.runner->start());
  const auto after = [](World& w) -> loop::Task<> { co_await w.until_ended("a"); };
  world.run(after(world));
  CHECK(world.secondary("a") == "MaxRuntimeExceeded");
}

TEST_CASE("runner: a job that has waited for its turn as long as it may is stopped") {
  World world;
  REQUIRE(world.runner->start());
  const auto story = [](World& w) -> loop::Task<> {
    for (const char* host : {"algo-1", "algo-2"})
      w.job("a", 2).host(host).phase(Phase::downloading).phase(Phase::training);
    w.submit("a", 2);
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
    Json input = input_of("b", 1, "host");
    input["EnableManagedSpotTraining"] = true;
    input["StoppingCondition"] = {{"MaxRuntimeInSeconds", 1}, {"MaxWaitTimeInSeconds", 1}};
    const Turn turn{"AK", 0, wall_time()};
    REQUIRE(w.store.submit({"b", "arn:b", to_text(input), {}, turn.submitted, "", "AK"}));
    w.runner->submitted("b", *api::job_request(input), turn);
    co_await w.until([&w] { return store::is_terminal(w.stored("b").state.status); });
    w.stop("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("b").state.status == store::Status::stopped);
  CHECK(world.secondary("b") == "MaxWaitTimeExceeded");
  CHECK(world.runner->waiting() == 0);
}

TEST_CASE("runner: the pull of a job's image does not count as its time") {
  World world;
  world.cluster.pass(wall_time() + std::chrono::hours(23));  // Then hosts tell their first word.
  const auto story = [](World& w) -> loop::Task<> {
    w.pull_hangs = true;
    w.job("a").host("algo-1").phase(Phase::downloading).phase(Phase::training);
    w.submit("a", 1, "AK", 0, "team/box");
    co_await w.until([&w] { return w.secondary("a") == "Downloading"; });
    CHECK(!w.stored("a").state.training_start);
    w.pull_hangs = false;
    co_await w.until([&w] { return w.secondary("a") == "Training"; });
  };
  world.run(story(world));
  const store::JobState state = world.stored("a").state;
  REQUIRE(state.training_start);
  CHECK(*state.training_start - state.transitions[2].start > std::chrono::hours(22));
}

TEST_CASE("runner: results that could not be uploaded are kept, also after a restart") {
  World world;
  const auto before = [](World& w) -> loop::Task<> {
    complete(w.job("a"));
    w.job("a").upload_error = fail(Errc::denied, "s3://b/out/a: access denied");
    complete(w.job("b"));
    w.job("b").release_error = fail(Errc::system, "busy");
    w.submit("a");
    w.submit("b");
    co_await w.until([&w] { return store::is_terminal(w.stored("a").state.status); });
    co_await w.until([&w] { return ::access((w.folder + "/keys/b").c_str(), F_OK) != 0; });
  };
  world.run(before(world));
  CHECK(world.stored("a").failure_reason == "ClientError: s3://b/out/a: access denied");
  world.cluster.job("b").release_error.reset();
  world.serve();
  REQUIRE(world.runner->start());
  const auto after = [](World& w) -> loop::Task<> {
    co_await w.until([&w] { return !w.cluster.has("b"); });
  };
  world.run(after(world));
  CHECK(world.cluster.has("a"));
}

TEST_CASE("until stored: work is done again until it succeeds, at once where the reserve helps") {
  World world;
  const Reserve reserve(world.folder + "/reserve");
  reserve.take();
  int tries = 0;
  std::function<Result<void>()> work = [&tries]() -> Result<void> {
    if (++tries < 2) return fail(Errc::system, "No space left on device");
    return {};
  };
  const TimePoint begun = Clock::now();
  loop::run_task(world.loop, until_stored(world.loop, reserve, world.log, "a", work));
  CHECK(tries == 2);
  CHECK(Clock::now() - begun < std::chrono::seconds(1));
  CHECK(!reserve.give());
  tries = 0;
  loop::run_task(world.loop, until_stored(world.loop, reserve, world.log, "a", work));
  CHECK(tries == 2);
}

TEST_CASE("runner: priorities and what keys used decide whose turn it is, after a restart too") {
  World world;
  world.submit("r", 2, "A");
  const auto story = [&]() -> loop::Task<> {
    co_await world.until_begun("r");
    for (auto& [name, host] : world.job("r").hosts) host.phase(Phase::downloading);
    co_await world.until([&] { return world.secondary("r") == "Downloading"; });
    for (const char* name : {"a1", "a2"}) world.submit(name, 2, "A");
    world.submit("b", 2, "B");
    world.submit("c", 2, "C", 3);
    const auto order = [&] {
      std::map<std::size_t, std::string> names;
      for (const char* name : {"a1", "a2", "b", "c"})
        if (const auto place = world.runner->place(name))
          names[place->place] = name + std::string(" ") + std::to_string(place->priority) + " ";
      std::string text;
      for (const auto& [place, name] : names) text += name;
      return text;
    };
    CHECK(order() == "c 3 b 0 a1 0 a2 0 ");
    CHECK(world.runner->place("a2")->of == 4);
    CHECK(!world.runner->place("r"));
    world.serve();
    CHECK(world.runner->start());
    CHECK(order() == "c 3 b 0 a1 0 a2 0 ");
    world.runner->set_priority("a2", 5);
    CHECK(order() == "a2 5 c 3 b 0 a1 0 ");
    CHECK(world.runner->why_waiting("b").starts_with(
        "Waiting for free hosts: place 3 of 4, behind a2, which has a higher priority; ml.one: 2 "
        "requested"));
    complete(world.job("r"));
    co_await world.until_begun("a2");
    CHECK(order() == "c 3 b 0 a1 0 ");
  };
  world.run(story());
}

}  // namespace
}  // namespace muster::jobs
