#include "aws/s3wire/s3_url.h"
#include "server/jobs/runner_world.h"
#include "server/store/sqlite.h"

namespace muster::jobs {
namespace {

/// A world whose server's options a test can change, and whose store it can damage.
struct OpenWorld : World {
  void serve() { World::serve(options); }
  /// What a disk does to the store's file is done by another connection.
  void alter(const std::string& statements) {
    REQUIRE((*store::Database::open(store.path()))->run(statements));
  }
  Runner::Options options = usual_options();
};

constexpr const char* no_keys = "ALTER TABLE access_keys RENAME TO gone";
constexpr const char* no_tags = "ALTER TABLE tags RENAME TO gone";
constexpr const char* no_transitions = "ALTER TABLE transitions RENAME TO gone";

/// A trigger that fails what `when` says, until it is dropped.
std::string full_disk(const std::string& when) {
  return "CREATE TRIGGER full BEFORE " + when + " BEGIN SELECT RAISE(ABORT, 'disk full'); END";
}

TEST_CASE("runner: a request's manifests are pinned, or the error says whose fault it is") {
  OpenWorld world;
  std::optional<Error> trouble;
  world.options.preparation.read_manifest =
      [&trouble](const s3wire::S3Url&) -> Result<ManifestObject> {
    if (trouble) return *trouble;
    return ManifestObject{R"([{"prefix": "s3://data/"}, "1.csv"])", "tag1"};
  };
  world.serve();
  api::JobRequest request = *api::job_request(input_of("a", 1, "host"));
  job::InputChannel channel;
  channel.name = "train";
  channel.s3.url = "s3://b/m";
  channel.s3.manifest = true;
  request.spec.input = {channel};
  REQUIRE(world.runner->pin(request));
  CHECK(request.spec.input[0].s3.etag == "tag1");
  trouble = fail(Errc::not_found, "no such object");
  const auto invalid = world.runner->pin(request);
  REQUIRE(!invalid);
  CHECK(invalid.error().code == "ValidationException");
  CHECK(invalid.error().message == "channel train: no such object");
  trouble = fail(Errc::system, "Input/output error");
  const auto failed = world.runner->pin(request);
  REQUIRE(!failed);
  CHECK(failed.error().code == "InternalFailure");
  CHECK(failed.error().status == 500);
}

TEST_CASE("runner: a request is checked against the config and the networks that there are") {
  OpenWorld world;
  Json input = input_of("a", 2, "host");
  input["VpcConfig"] = {{"Subnets", {"subnet-7"}}, {"SecurityGroupIds", {"sg-1"}}};
  const api::JobRequest request = *api::job_request(input);
  CHECK(world.runner->check(request));
  world.options.preparation.networks = [] {
    return vpc::Networks{.vpcs = {{"vpc-1", "10.0.0.0/16"}},
                         .subnets = {{"subnet-1", "vpc-1", "10.0.1.0/28", "a"}},
                         .groups = {}};
  };
  world.serve();
  const auto refused = world.runner->check(request);
  REQUIRE(!refused);
  CHECK(refused.error().message.find("this server has no subnet-7") != std::string::npos);
  CHECK(world.runner->check(*api::job_request(input_of("a", 2, "host"))));
  const auto large = world.runner->check(*api::job_request(input_of("a", 3, "host")));
  REQUIRE(!large);
  CHECK(large.error().message.find("ml.one: 3 requested") != std::string::npos);
}

TEST_CASE("runner: a priority is allowed as for the key and those that made it") {
  OpenWorld world;
  world.options.preparation.config = *job_config_from(
      Json::parse(R"({"capacity": {"ml.one": 2}, "priority_max": {"LOW": 1, "*": 5}})"));
  world.serve();
  store::AccessKey made;
  made.id = "MADE";
  made.secret = "secret";
  made.makers = {"LOW"};
  REQUIRE(world.store.add_key(made));
  const store::Tags five = {{priority_tag, "5"}};
  CHECK(*world.runner->priority({}, "MADE") == std::nullopt);
  CHECK(*world.runner->priority(five, "UNKNOWN") == 5);
  const auto above = world.runner->priority(five, "MADE");
  REQUIRE(!above);
  CHECK(above.error().code == "ValidationException");
  CHECK(*world.runner->priority({{priority_tag, "1"}}, "MADE") == 1);
  world.alter(no_keys);
  const auto unknown = world.runner->priority(five, "MADE");
  REQUIRE(!unknown);
  CHECK(unknown.error().code == "InternalFailure");
}

/// Deletes the job as soon as its end is stored, and submits another by its name.
void reuse_name(OpenWorld& world, std::function<void()> then) {
  auto done = std::make_shared<bool>(false);
  world.options.sweep_uploads = [&world, done, then = std::move(then)] {
    if (!(*world.store.job("a")) || !store::is_terminal(world.stored("a").state.status)) return;
    if (std::exchange(*done, true)) return;
    REQUIRE(*world.store.remove("a"));
    world.runner->deleted("a");
    world.submit("a", 2);
    then();
  };
  world.serve();
}

TEST_CASE("runner: a priority reaches a job that waits for its namesake to be cleared away") {
  OpenWorld world;
  reuse_name(world, [&world] {
    CHECK(!world.runner->place("a"));
    world.runner->set_priority("a", 7);
  });
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    complete(w.job("a", 2));
    w.submit("a", 2);
    w.submit("big", 2, "AK", 5);
    w.runner->set_priority("none", 9);
    w.runner->set_priority("a", 6);
    co_await w.until([&w] { return w.has_logged("a: Completed"); });
    co_await w.until([&w] { return !w.cluster.has("a"); });
    co_await w.until_begun("a");
    CHECK(!w.cluster.has("big"));
    CHECK(w.runner->place("big")->place == 1);
    complete(w.job("a"));
    co_await w.until_ended("a");
    co_await w.until_begun("big");
    complete(w.job("big"));
    co_await w.until_ended("big");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
}

TEST_CASE("runner: a job that is stopped behind its namesake never begins") {
  OpenWorld world;
  reuse_name(world, [&world] { world.stop("a"); });
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    complete(w.job("a", 2));
    w.submit("a", 2);
    co_await w.until([&w] { return w.has_logged("a: Stopped"); });
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::stopped);
  CHECK(world.keys_made == 2);
  CHECK(world.runner->waiting() == 0);
}

TEST_CASE("runner: open uploads are swept at the start and at each job's end") {
  OpenWorld world;
  int sweeps = 0;
  world.options.sweep_uploads = [&sweeps] { ++sweeps; };
  world.options.in_slurm = nullptr;
  world.serve();
  REQUIRE(world.runner->start());
  CHECK(sweeps == 1);
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(sweeps == 2);
  CHECK(world.runner->in_slurm("a").is_null());  // As of a server without a cluster.
}

TEST_CASE("runner: a job ends as it did although its Slurm note cannot be stored") {
  OpenWorld world;
  world.options.in_slurm = [](const std::string&) {
    return Json::parse(R"({"JobId": "17", "Nodes": "n1", "EarlierJobIds": []})");
  };
  world.serve();
  world.alter(full_disk("UPDATE OF notes ON jobs"));
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
  CHECK(world.stored("a").notes.empty());
  CHECK(world.has_logged("disk full"));
}

TEST_CASE("runner: a job whose image cannot be noted does not start") {
  OpenWorld world;
  world.alter(full_disk("UPDATE OF notes ON jobs"));
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    w.submit("a", 1, "AK", 0, "team/box");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").failure_reason.find("disk full") != std::string::npos);
  CHECK(!world.cluster.has("a"));
}

TEST_CASE("runner: a pull goes on although its status cannot be stored") {
  OpenWorld world;
  world.alter(full_disk("INSERT ON transitions WHEN NEW.status = 'Downloading'"));
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    w.pull_hangs = true;
    w.submit("a", 1, "AK", 0, "team/box");
    co_await w.until([&w] { return w.has_logged("disk full"); });
    CHECK(w.secondary("a") == "Starting");
    w.alter("DROP TRIGGER full");
    complete(w.job("a"));
    w.pull_hangs = false;
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
}

TEST_CASE("runner: an end is stored as soon as the store can") {
  OpenWorld world;
  world.alter(full_disk("UPDATE OF status ON jobs WHEN NEW.status = 'Completed'"));
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    complete(w.job("a"));
    w.submit("a");
    co_await w.until([&w] { return w.has_logged("final state cannot be stored yet: "); });
    CHECK(!store::is_terminal(w.stored("a").state.status));
    w.alter("DROP TRIGGER full");
    co_await w.until_ended("a");
  };
  world.run(story(world));
  CHECK(world.stored("a").state.status == store::Status::completed);
}

TEST_CASE("runner: journals that cannot be removed are named in the log") {
  OpenWorld world;
  REQUIRE(write_file(world.folder + "/journals", "a file in the folder's place", 0600));
  world.runner->deleted("a");
  CHECK(world.has_logged("a: cannot remove the job's journals: "));
}

TEST_CASE("runner: a start fails with the store") {
  OpenWorld world;
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    w.submit("runs", 2);
    co_await w.until_begun("runs");
    w.submit("waits", 2);
  };
  SUBCASE("a list of the jobs") {
    world.alter("ALTER TABLE jobs RENAME TO gone");
  }
  SUBCASE("what jobs used") {
    world.alter(no_tags);
  }
  SUBCASE("a running job") {
    world.run(story(world));
    world.alter(no_transitions);
  }
  SUBCASE("a running job's key") {
    world.run(story(world));
    world.alter(no_keys);
  }
  SUBCASE("a running job's tags") {
    world.run(story(world));
    world.alter(no_tags);
  }
  SUBCASE("a waiting job") {
    world.submit("waits", 2);
    world.alter(no_transitions);
  }
  SUBCASE("a waiting job's tags") {
    world.submit("waits", 2);
    world.alter(no_tags);
  }
  world.options.read_at_start = std::chrono::hours(1);
  world.serve();
  const Result<void> started = world.runner->start();
  REQUIRE(!started);
  CHECK(started.error().code == Errc::system);
  CHECK(started.error().text.find("no such table") != std::string::npos);
}

TEST_CASE("runner: a store that fails while jobs are read does not keep the others waiting") {
  OpenWorld world;
  world.submit("a", 2);
  world.options.read_at_start = std::chrono::milliseconds(0);
  world.serve();
  REQUIRE(world.runner->start());
  world.alter(no_tags);
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    co_await w.until([&w] { return !w.runner->is_reading(); });
    CHECK(w.has_logged("some waiting jobs could not be read: "));
    w.alter("ALTER TABLE gone RENAME TO tags");
    complete(w.job("late", 2));
    w.submit("late", 2);
    co_await w.until_ended("late");
  };
  world.run(story(world));
  CHECK(world.stored("late").state.status == store::Status::completed);
}

TEST_CASE("runner: a job that is deleted before it is read is not run, and its name is free") {
  OpenWorld world;
  for (const char* name : {"gone", "again"}) world.submit(name, 2);
  world.options.read_at_start = std::chrono::milliseconds(0);
  world.serve();
  REQUIRE(world.runner->start());
  CHECK(world.runner->waiting() == 2);
  for (const char* name : {"gone", "again"}) {
    REQUIRE(*world.store.remove(name));
    world.runner->deleted(name);
  }
  world.submit("again", 2, "OTHER");
  const auto story = [](OpenWorld& w) -> loop::Task<> {
    co_await w.until([&w] { return !w.runner->is_reading(); });
    CHECK(w.runner->check_room("AK"));
    co_await w.until_begun("again");
    CHECK(w.runner->waiting() == 0);
    complete(w.job("again"));
    co_await w.until_ended("again");
  };
  world.run(story(world));
  CHECK(world.stored("again").state.status == store::Status::completed);
  CHECK(world.keys_made == 2);
}

TEST_CASE("runner: stored pins that cannot be read fail their job alone") {
  OpenWorld world;
  REQUIRE(world.store.submit({.name = "a",
                              .arn = "arn:a",
                              .request = to_text(input_of("a", 1, "host")),
                              .tags = {},
                              .now = wall_time(),
                              .invocation = "",
                              .manifests = "{"}));
  REQUIRE(world.runner->start());
  const auto story = [](OpenWorld& w) -> loop::Task<> { co_await w.until_ended("a"); };
  world.run(story(world));
  CHECK(world.stored("a").failure_reason.starts_with("ClientError: "));
}

TEST_CASE("runner: what a key used is known again, but for requests that cannot be read") {
  OpenWorld world;
  const auto before = [](OpenWorld& w) -> loop::Task<> {
    for (const char* name : {"of-a", "of-b"}) {
      complete(w.job(name, 2));
      w.submit(name, 2, name);
      co_await w.until_ended(name);
    }
  };
  world.run(before(world));
  world.alter(
      "UPDATE jobs SET training_start = training_end - 3600000;"
      "UPDATE jobs SET request = '{}' WHERE name = 'of-b'");
  world.serve();
  REQUIRE(world.runner->start());
  const auto after = [](OpenWorld& w) -> loop::Task<> {
    co_await w.until([&w] { return !w.runner->is_reading(); });
    w.submit("a", 2, "of-a");
    w.submit("b", 2, "of-b");
    co_await w.until_begun("b");
    CHECK(w.runner->place("a")->place == 1);
    for (const char* name : {"a", "b"}) w.stop(name);
    for (const char* name : {"a", "b"}) co_await w.until_ended(name);
  };
  world.run(after(world));
}

}  // namespace
}  // namespace muster::jobs
