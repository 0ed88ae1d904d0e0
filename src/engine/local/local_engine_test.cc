#include "engine/local/local_engine.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/job_folder.h"
#include "net/loop/testing.h"
#include "net/loop/worker.h"

namespace muster::local {
namespace {

using namespace std::chrono_literals;

/// A steward of our own making: a shell script that gets `steward --spec FILE --lifeline 3`.
class Stage {
 public:
  Stage() : folder_(*make_private_folder("/tmp", "muster-local-")), programs_(loop_) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() { static_cast<void>(remove_tree(folder_)); }

  LocalEngine engine(const std::string& script, bool lifeline = true) {
    REQUIRE(write_file(program(), "#!/bin/sh\n" + script + "\n", 0755));
    LocalEngine::Options options;
    options.state = state();
    options.program = program();
    options.network_register = folder_ + "/subnets";
    options.folder_register = folder_ + "/folders";
    options.env = {{"PATH", "/usr/bin:/bin"}};
    options.lifeline = lifeline;
    return LocalEngine(programs_, options);
  }
  void run(const std::function<loop::Task<>()>& body) { loop::run_task(loop_, body()); }

  loop::Loop& loop() { return loop_; }
  supervise::Programs& programs() { return programs_; }
  std::string state() const { return folder_ + "/state"; }
  std::string program() const { return folder_ + "/sm"; }
  std::string job() const { return state() + "/jobs/demo"; }

 private:
  std::string folder_;
  loop::Loop loop_;
  supervise::Programs programs_;
};

job::Spec demo(int hosts) {
  job::Spec spec;
  spec.name = "demo";
  spec.instance_count = hosts;
  return spec;
}

using RunResult = Result<std::unique_ptr<engine::Run>>;

/// The next end of a host; what comes before is passed over.
loop::Task<Result<engine::Event>> next_end(engine::Run& run) {
  while (true) {
    Result<engine::Event> event = co_await run.next_event();
    if (!event || engine::is_end(event->kind)) co_return event;
  }
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

TEST_CASE("local: every host's steward gets its specification, the lifeline and the lock") {
  Stage stage;
  LocalEngine engine = stage.engine(R"(folder=${3%/spec.json}
[ "$1 $2 $4 $5" = "steward --spec --lifeline 3" ] || exit 9
ls /proc/$$/fd > "$folder/fds"
readlink /proc/$$/fd/4 > "$folder/lock"
cut -d' ' -f5,6 /proc/$$/stat > "$folder/session"
echo done > "$folder/journal")");
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(2));
    REQUIRE(run);
    CHECK(engine.list() == std::vector<std::string>{"demo"});
    REQUIRE((*run)->hosts().size() == 2);
    CHECK((*run)->hosts()[1] == "algo-2");
    CHECK(engine.journal_file("demo", "algo-2") == stage.job() + "/algo-2/journal");
    for (int i = 0; i < 2; ++i) {
      const Result<engine::Event> ended = co_await next_end(**run);
      REQUIRE(ended);
      CHECK(ended->outcome == job::Outcome::exited(0));
    }
    const Result<engine::Event> none = co_await next_end(**run);
    CHECK(none.error().code == Errc::closed);
    const std::string host = stage.job() + "/algo-2";
    const Result<Json> json = parse_json(*read_file(host + "/spec.json"));
    const Result<job::HostSpec> spec = job::host_spec_from(*json);
    REQUIRE(spec);
    CHECK(spec->host == "algo-2");
    CHECK(job::own_address(*spec).ends_with(".2"));
    CHECK(spec->key_file == stage.job() + "/key");
    CHECK(trim(*read_file(host + "/lock")) == stage.job() + "/lock");
    CHECK(split_words(*read_file(host + "/fds")).size() >= 5);
    struct stat info {};
    REQUIRE(::stat((host + "/spec.json").c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    const Result<std::string> released = co_await (*run)->release(false);
    REQUIRE(released);
    CHECK(!exists(stage.job()));
  });
}

TEST_CASE("local: a steward that fails reports why, and its leftovers are swept") {
  Stage stage;
  LocalEngine engine = stage.engine(R"(case "$2" in
--sweep) rm -r "$MUSTER_STATE/jobs/demo"; echo '{"removed": ["job demo"], "failed": []}';;
*) echo "first" >&2; echo "spec.json: no such thing" >&2; exit 1;;
esac)");
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    const Result<engine::Event> ended = co_await next_end(**run);
    REQUIRE(ended);
    CHECK(ended->outcome == job::Outcome::failed("spec.json: no such thing"));
    const Result<std::string> released = co_await (*run)->release(false);
    REQUIRE(released);
    CHECK(!exists(stage.job()));
  });
}

TEST_CASE("local: an upload that is killed is swept, too") {
  Stage stage;
  LocalEngine engine = stage.engine(R"(case "$2" in
--sweep) mv "$MUSTER_STATE/jobs/demo" "$MUSTER_STATE/swept"; echo '{"removed": [], "failed": []}';;
--upload) kill -9 $$;;
esac)");
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    REQUIRE(co_await next_end(**run));
    const Result<std::string> uploaded = co_await (*run)->upload(true);
    REQUIRE(!uploaded);
    CHECK(uploaded.error().text == "killed by SIGKILL");
    const Result<std::string> released = co_await (*run)->release(false);
    REQUIRE(released);
    CHECK(exists(stage.state() + "/swept"));
  });
}

TEST_CASE("local: kept folders stay, marked, and their names stay reserved") {
  Stage stage;
  LocalEngine engine = stage.engine("exit 0");
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    static_cast<void>(co_await next_end(**run));
    const Result<std::string> released = co_await (*run)->release(true);
    REQUIRE(released);
    CHECK(exists(stage.job() + "/kept"));
    CHECK(*released == stage.job());
    CHECK(engine.list() == std::vector<std::string>{"demo"});
    const RunResult again = co_await engine.start(demo(1));
    CHECK(again.error().code == Errc::invalid_input);
  });
}

TEST_CASE("local: without us the lifeline ends, and with it the steward") {
  Stage stage;
  LocalEngine engine = stage.engine(R"(read -r nothing <&3; rm -r "${3%/algo-1/spec.json}")");
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    CHECK(engine::is_locked(stage.job()));
    const Fd lock(::open((stage.job() + "/lock").c_str(), O_RDWR | O_CLOEXEC));
    run->reset();
    // The steward's death gives the lock up: in a thread, since the loop has to reap.
    const std::function<Result<void>()> wait = [number = lock.get()]() -> Result<void> {
      if (::flock(number, LOCK_EX) != 0) return fail_errno("flock");
      return {};
    };
    const Result<void> given_up = co_await loop::in_thread(stage.loop(), wait);
    CHECK(given_up);
    CHECK(!exists(stage.job()));
  });
}

TEST_CASE("local: a steward is asked to stop, or killed when it does not answer") {
  Stage stage;
  LocalEngine engine =
      stage.engine(R"(folder=${3%/spec.json}; trap 'echo term > "$folder"/got; exit 0' TERM
host=${folder##*/}; [ $host = algo-2 ] && trap '' TERM
echo > "$0-$host"
while read -r nothing <&3; do :; done)");
  for (const char* host : {"-algo-1", "-algo-2"})
    REQUIRE(::mkfifo((stage.program() + host).c_str(), 0600) == 0);
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(2));
    REQUIRE(run);
    for (const char* host : {"-algo-1", "-algo-2"})  // Until both have set their traps.
      REQUIRE(read_file(stage.program() + host));
    (*run)->stop("algo-1", 1000ms);
    const Result<engine::Event> first = co_await next_end(**run);
    REQUIRE(first);
    CHECK(first->host == "algo-1");
    CHECK(exists(stage.job() + "/algo-1/got"));
    (*run)->stop("algo-2", 1000ms);
    (*run)->destroy("algo-2");
    const Result<engine::Event> second = co_await next_end(**run);
    REQUIRE(second);
    CHECK(second->outcome == job::Outcome::signaled(9));
  });
}

TEST_CASE("local: a job that was started elsewhere can be followed and ended") {
  Stage stage;
  LocalEngine engine = stage.engine("exec sleep 60", false);
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    const RunResult other = co_await engine.attach("other");
    CHECK(other.error().code == Errc::not_found);
    RunResult again = co_await engine.attach("demo");
    REQUIRE(again);
    REQUIRE((*again)->hosts().size() == 1);
    CHECK(!(*again)->whole());  // The host has not begun its journal.
    REQUIRE(write_file(stage.job() + "/algo-1/journal", "begun"));
    again = co_await engine.attach("demo");
    REQUIRE(again);
    CHECK((*again)->whole());
    (*again)->destroy("algo-1");
    const Result<engine::Event> seen = co_await next_end(**again);
    REQUIRE(seen);
    CHECK(seen->host == "algo-1");
    const Result<engine::Event> reaped = co_await next_end(**run);
    REQUIRE(reaped);
    CHECK(reaped->outcome == job::Outcome::signaled(9));
  });
}

TEST_CASE("local: a job whose stewards have died is released even before they are waited for") {
  Stage stage;
  LocalEngine engine = stage.engine("exit 0", false);
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(1));
    REQUIRE(run);
    const Fd lock(::open((stage.job() + "/lock").c_str(), O_RDWR | O_CLOEXEC));
    run->reset();
    // Until the steward is dead. The loop does not turn meanwhile, so it stays a zombie.
    REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
    REQUIRE(::flock(lock.get(), LOCK_UN) == 0);
    RunResult again = co_await engine.attach("demo");
    REQUIRE(again);
    const Result<std::string> released = co_await (*again)->release(false);
    CHECK(released);
    CHECK(!exists(stage.job()));
  });
}

TEST_CASE("local: stewards of a job that outlives us begin when all of them are written down") {
  Stage stage;
  LocalEngine engine = stage.engine(R"([ "$4 $5" = "--gate 5" ] || exit 9
head -c 1 <&5 > ${3%/spec.json}/word
for host in algo-1 algo-2; do
  [ -s ${3%/*/spec.json}/$host/steward.pid ] || exit 8
done)",
                                    false);
  stage.run([&]() -> loop::Task<> {
    RunResult run = co_await engine.start(demo(2));
    REQUIRE(run);
    for (int i = 0; i < 2; ++i) {
      const Result<engine::Event> ended = co_await next_end(**run);
      REQUIRE(ended);
      CHECK(ended->outcome == job::Outcome::exited(0));
      CHECK(read_file(stage.job() + "/" + ended->host + "/word").value_or("") == "+");
    }
  });
}

TEST_CASE("local: a start that was cut short is found, and can be removed") {
  Stage stage;
  LocalEngine engine = stage.engine("exit 0", false);
  struct {
    const char* name;
    const char* job;  ///< The content of job.json.
    const char* pid;  ///< And in the first host's steward.pid.
    std::size_t hosts;
  } const cases[] = {
      {"nothing is written", nullptr, nullptr, 0},
      {"the job is about to be written", "", nullptr, 0},
      {"no steward is written down", "{}", nullptr, 0},
      {"a steward is about to be written down", "{}", "", 0},
      {"a steward that did nothing", "{}", "1 1\n", 1},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    { REQUIRE(engine::JobFolder::create(stage.state(), "demo")); }
    const std::string job = c.job == nullptr ? "" : c.job;
    const std::string text = job.empty() ? job : to_text(job::to_json(demo(1)));
    REQUIRE(make_folders(stage.job() + "/algo-1"));
    if (c.job != nullptr) REQUIRE(write_file(stage.job() + "/job.json", text));
    if (c.pid != nullptr) REQUIRE(write_file(stage.job() + "/algo-1/steward.pid", c.pid));
    stage.run([&]() -> loop::Task<> {
      RunResult run = co_await engine.attach("demo");
      REQUIRE(run);
      CHECK(!(*run)->whole());
      CHECK((*run)->hosts().size() == c.hosts);
      const Result<std::string> released = co_await (*run)->release(false);
      CHECK(released);
      CHECK(!exists(stage.job()));
    });
  }
}

TEST_CASE("local: a job that cannot be started leaves nothing") {
  Stage stage;
  LocalEngine engine = stage.engine("exit 0");
  REQUIRE(::unlink(stage.program().c_str()) == 0);
  stage.run([&]() -> loop::Task<> {
    const RunResult run = co_await engine.start(demo(1));
    REQUIRE(!run);
    CHECK(run.error().text.find(stage.program()) != std::string::npos);
    CHECK(!exists(stage.job()));
    const RunResult many = co_await engine.start(demo(254));
    CHECK(many.error().code == Errc::invalid_input);
    CHECK(engine.list().empty());
    job::Spec spec = demo(1);
    spec.name = "not/a/name";
    const RunResult wrong = co_await engine.start(spec);
    CHECK(wrong.error().code == Errc::invalid_input);
  });
}

TEST_CASE("local: half-created and half-removed jobs are removed, complete ones are not") {
  Stage stage;
  LocalEngine engine = stage.engine("exit 0");
  for (const char* name : {".new-12", ".gone-34", "demo"})
    REQUIRE(make_folders(stage.state() + "/jobs/" + name + "/algo-1"));
  CHECK(engine.list() == std::vector<std::string>{"demo"});
  engine.clear_halves();
  CHECK(!exists(stage.state() + "/jobs/.new-12"));
  CHECK(!exists(stage.state() + "/jobs/.gone-34"));
  CHECK(exists(stage.job()));
}

TEST_CASE("programs: output, outcome and time limit") {
  Stage stage;
  supervise::Programs& programs = stage.programs();
  stage.run([&]() -> loop::Task<> {
    const Env env{{"PATH", "/usr/bin:/bin"}};
    Command command{{"sh", "-c", "echo out; echo err >&2; exit 3"}, env, ""};
    const Result<supervise::Programs::Done> done = co_await programs.run(command, 30s);
    REQUIRE(done);
    CHECK(done->outcome == job::Outcome::exited(3));
    CHECK(done->out == "out\n");
    CHECK(done->err == "err\n");
    Command endless{{"sleep", "60"}, env, ""};
    const Result<supervise::Programs::Done> late = co_await programs.run(endless, 10ms);
    CHECK(late.error().code == Errc::timeout);
    Command none{{"no-such-program"}, env, ""};
    const Result<supervise::Programs::Done> missing = co_await programs.run(none, 10ms);
    CHECK(missing.error().code == Errc::not_found);
  });
}

}  // namespace
}  // namespace muster::local
