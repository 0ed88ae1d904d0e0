#include "host/calls/conduct_job.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/files/remove_tree.h"
#include "host/calls/testing.h"
#include "net/sockets/probe_port.h"

namespace muster::calls {
namespace {

using namespace std::chrono_literals;
using job::Message;
using job::Outcome;

struct Bench {
  Bench() {
    start.training.job_name = "job";
    start.training.facts.base_dir = folder;
    start.training.current_host = "algo-1";
    start.training.leader = "algo-1";
    start.training.hosts = {"algo-1"};
    start.options.join_deadline = 300ms;
    start.options.heartbeat = 100ms;
    start.options.lost_after = 5s;
    start.options.stop_grace = 20s;
    start.options.failure_grace = 200ms;
    start.steward_fd = steward.file.get();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { static_cast<void>(remove_tree(folder)); }

  JobEnd run(const std::string& script) {
    const Prepare prepare = [&](Workshop&) { return prepared(program(script)); };
    return conduct_job(start, prepare, log);
  }
  static loop::Task<Prepared> prepared(Work work) { co_return work; }
  /// But marks of the host's start.
  std::vector<Frame> told() const {
    FrameReader reader;
    reader.feed(steward.text());
    std::vector<Frame> frames;
    for (Result<std::optional<Frame>> next = reader.next(); next && *next; next = reader.next())
      if ((*next)->type != job::type_of(Message::mark)) frames.push_back(**next);
    return frames;
  }

  std::string folder = *make_private_folder("/tmp", "muster-conduct-");
  Paper steward;
  Paper said;
  Log log{said.file.get(), "test", Log::Level::info};
  JobStart start{};
};

TEST_CASE_FIXTURE(Bench, "conduct: a job's last word to the steward is its verdict") {
  const JobEnd end = run("echo hello; exit 3");
  CHECK(end.verdict.outcome == Outcome::exited(3));
  CHECK(end.own == end.verdict);
  const std::vector<Frame> frames = told();
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].type == job::type_of(Message::lines));
  CHECK(frames[1].type == job::type_of(Message::outcome));
  CHECK(frames[2].type == job::type_of(Message::verdict));
}

TEST_CASE_FIXTURE(Bench, "conduct: a host marks the moments of its start, each once") {
  run("true; true");
  std::vector<std::string> marks;
  FrameReader reader;
  reader.feed(steward.text());
  for (Result<std::optional<Frame>> next = reader.next(); next && *next; next = reader.next())
    if ((*next)->type == job::type_of(Message::mark)) marks.push_back((*next)->payload);
  CHECK(marks == std::vector<std::string>{R"({"mark":"begun"})", R"({"mark":"checked"})",
                                          R"({"mark":"launched"})", R"({"mark":"rank"})"});
}

TEST_CASE_FIXTURE(Bench, "conduct: SIGTERM stops the job, not the process before its end") {
  const JobEnd end = run("kill -TERM $PPID; sleep 1000");
  CHECK(end.verdict.outcome == Outcome::stopped(SIGTERM));
  CHECK(end.own->outcome == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Bench, "conduct: a member that finds no leader says whom it looked for") {
  start.training.hosts = {"localhost", "algo-1"};
  start.training.leader = "localhost";
  start.key = std::string(32, 'k');
  start.options.port = loop::free_ports(1)->front();
  start.env = {{"MUSTER_MPI_TRANSPORT", "ssh"}};
  const JobEnd end = run("true");
  CHECK(end.verdict.outcome.text.starts_with("localhost at localhost:"));
  CHECK(end.verdict.outcome.text.find("did not respond within 300 ms") != std::string::npos);
  CHECK(!end.own);
}

TEST_CASE_FIXTURE(Bench, "conduct: a program alone on its host knows how long a stop may take") {
  start.env = {{"MUSTER_STOP_DEADLINE", "60"}, {"MUSTER_TRAINING_LOG", "x"}};
  CHECK(run("test \"$MUSTER_STOP_DEADLINE$MUSTER_TRAINING_LOG\" = 60").verdict.success());
}

TEST_CASE_FIXTURE(Bench, "conduct: a program that can reach `train` knows the job's variables") {
  start.env = {{"MUSTER_TRAINING_LOG", "x"}, {"MUSTER_HOSTS", "y"}, {"MUSTER_NUMA", ""}};
  start.socket = true;
  CHECK(run("test \"$MUSTER_TRAINING_LOG$MUSTER_HOSTS${MUSTER_NUMA-z}\" = xyz").verdict.success());
  start.socket = false;
  CHECK(run("test \"$MUSTER_TRAINING_LOG${MUSTER_NUMA-z}\" = \"\"").verdict.success());
}

TEST_CASE_FIXTURE(Bench, "conduct: a setting that is wrong is named before the roll call") {
  start.env = {{"MUSTER_PREFLIGHT", "loud"}};
  const JobEnd loud = run("echo never");
  CHECK(loud.verdict.process == "train");
  CHECK(loud.verdict.outcome.text ==
        "MUSTER_PREFLIGHT is \"loud\"; expected off, light, full or json");
  start.training.hosts = {"fd00::2", "algo-1"};
  start.training.leader = "fd00::2";
  CHECK(run("echo never")
            .verdict.outcome.text.starts_with(
                "resourceconfig.json: fd00::2 has only IPv6 addresses"));
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(Bench, "conduct: an output on S3 that cannot be ends the job before it begins") {
  start.training.s3_output = "http://bucket";
  const JobEnd end = run("echo never");
  CHECK(end.verdict.process == "train");
  CHECK(end.verdict.outcome.text.find("'s3' scheme") != std::string::npos);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(Bench, "conduct: the program's files for S3 are looked for in the right folder") {
  start.training.s3_output = "s3://bucket/out";
  const Intermediate::Options options = intermediate_options(start.training);
  CHECK(options.folder == folder + "/output/intermediate");
  CHECK(options.s3_output == "s3://bucket/out");
  CHECK(options.job_name == "job");
  start.env = {{"AWS_ACCESS_KEY_ID", "id"},
               {"AWS_SECRET_ACCESS_KEY", "secret"},
               {"AWS_REGION", "eu-1"},
               {"AWS_ENDPOINT_URL", "http://127.0.0.1:1"}};
  CHECK(run("test -d " + options.folder).verdict.success());
}

TEST_CASE_FIXTURE(Bench, "conduct: the steward's stream is a descriptor or a pipe by its path") {
  CHECK(*steward_stream({}) == std::nullopt);
  const Fd copy(::dup(steward.file.get()));
  const std::string number = std::to_string(copy.get());
  CHECK(*steward_stream({{"MUSTER_STEWARD_FD", number}}) == copy.get());
  CHECK((::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC) != 0);
  const std::string pipe = folder + "/steward";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(*steward_stream({{"MUSTER_STEWARD_FD", pipe}}) == std::nullopt);  // The pipe has no reader.
  const Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const Result<std::optional<int>> opened = steward_stream({{"MUSTER_STEWARD_FD", pipe}});
  REQUIRE(opened);
  REQUIRE(*opened);
  const Fd own(**opened);
  for (const char* wrong : {"", "x", "2", "-1", "1000000"}) {
    CAPTURE(wrong);
    const Result<std::optional<int>> got = steward_stream({{"MUSTER_STEWARD_FD", wrong}});
    REQUIRE_FALSE(got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text.starts_with("MUSTER_STEWARD_FD is \""));
  }
}

TEST_CASE_FIXTURE(Bench,
                  "conduct: only a job of several hosts needs a key; a weak one is warned of") {
  CHECK(*key_for(start.training, {}, log) == "");
  start.training.hosts.push_back("algo-2");
  CHECK(key_for(start.training, {}, log).error().code == Errc::invalid_input);
  const std::string hex(64, 'a');
  CHECK(*key_for(start.training, {{"MUSTER_JOB_KEY", hex}}, log) == std::string(32, '\xaa'));
  CHECK(said.text().empty());
  const Env by_name{{"MUSTER_JOB_KEY_FROM_NAME", "1"}, {"TRAINING_JOB_NAME", "job"}};
  CHECK(key_for(start.training, by_name, log)->size() == 32);
  CHECK(said.has("MUSTER_JOB_KEY_FROM_NAME"));
}

}  // namespace
}  // namespace muster::calls
