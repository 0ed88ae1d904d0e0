#include "platform/places/job_record.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "net/loop/testing.h"
#include "platform/places/growth.h"
#include "platform/places/job_description.h"

namespace muster::places {
namespace {

struct State {
  State() : path(*make_private_folder("/tmp", "muster-record-")) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

Json described(const std::string& name, UnixMillis now = UnixMillis(0)) {
  job::Spec spec;
  spec.name = name;
  return description_of(spec, now);
}

std::string reason(const FoundJob& job) {
  return job.description.value("FailureReason", std::string());
}

platform::JobReport completed() {
  platform::JobReport report;
  report.end.status = platform::JobEnd::Status::completed;
  report.end.last = {"Completed", "done", UnixMillis(5)};
  return report;
}

std::unique_ptr<JobRecord> prepared(
    loop::Loop& loop, const State& state, const std::string& name,
    std::function<bool()> stop = [] { return false; }) {
  Result<std::unique_ptr<JobRecord>> record =
      JobRecord::prepare(loop, state.path, described(name), {std::move(stop), {}});
  REQUIRE(record);
  return *std::move(record);
}

TEST_CASE("job record: only its user sees it, and only once the job exists") {
  State state;
  loop::Loop loop;
  std::unique_ptr<JobRecord> record = prepared(loop, state, "demo");
  CHECK(find_job(state.path, "demo").error().code == Errc::not_found);
  REQUIRE(record->publish("demo"));
  const Result<FoundJob> found = find_job(state.path, "demo");
  REQUIRE(found);
  CHECK(found->living);
  struct stat status {};
  REQUIRE(::stat(found->folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  REQUIRE(::stat((found->folder + "/description.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  for (const char* name : {"", ".", "..", "../demo", "a/b", "other"})
    CHECK(find_job(state.path, name).error().code == Errc::not_found);
}

TEST_CASE("job record: a start that failed leaves nothing, a carrier that died leaves a lost job") {
  State state;
  loop::Loop loop;
  prepared(loop, state, "demo").reset();
  CHECK(names_in(state.path + "/records")->empty());
  REQUIRE(prepared(loop, state, "demo")->publish("demo"));  // And is gone.
  const Result<FoundJob> lost = find_job(state.path, "demo");
  REQUIRE(lost);
  CHECK(!lost->living);
  CHECK(has_ended(lost->description));
  CHECK(reason(*lost).starts_with("lost: "));
}

TEST_CASE("job record: journals outlive the job's folder, and an end is an end") {
  State state;
  loop::Loop loop;
  const std::string journal = state.path + "/journal";
  REQUIRE(write_file(journal, "bytes"));
  {
    const std::unique_ptr<JobRecord> record = prepared(loop, state, "demo");
    REQUIRE(record->publish("demo"));
    record->take({"Training", "on", UnixMillis(3)});
    record->keep_journal("algo-1", journal);
    CHECK(find_job(state.path, "demo")->description["SecondaryStatus"] == "Training");
    record->end(completed(), 0, {});
  }
  ::unlink(journal.c_str());
  const Result<FoundJob> found = find_job(state.path, "demo");
  REQUIRE(found);
  CHECK(found->description["TrainingJobStatus"] == "Completed");
  CHECK(read_file(found->journal("algo-1")).value_or("") == "bytes");
  CHECK(::access((found->folder + "/control.sock").c_str(), F_OK) != 0);
}

TEST_CASE("job record: a new job takes an ended one's name, the newest is listed first") {
  State state;
  loop::Loop loop;
  {
    const std::unique_ptr<JobRecord> first = prepared(loop, state, "demo");
    REQUIRE(first->publish("demo"));
    first->end(completed(), 0, {});
  }
  const std::unique_ptr<JobRecord> second = prepared(loop, state, "demo");
  REQUIRE(second->publish("demo"));
  CHECK(find_job(state.path, "demo")->living);
  Result<std::unique_ptr<JobRecord>> newer = JobRecord::prepare(
      loop, state.path, described("newer", UnixMillis(9000)), {[] { return false; }, {}});
  REQUIRE(newer);
  REQUIRE((*newer)->publish("newer"));
  const FoundJob now = *find_job(state.path, "demo");
  CHECK(find_again(state.path, now));
  FoundJob before = now;
  before.description["CreationTime"] = 1.5;
  CHECK(find_again(state.path, before).error().code == Errc::not_found);
  const Result<std::vector<FoundJob>> all = find_jobs(state.path);
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].name == "newer");
  CHECK(forget_ended(state.path)->empty());  // Both live.
  CHECK(forget_job((*all)[0]).error().text ==
        "newer is running; run sm stop --wait newer, then delete the job");
  newer->reset();
  CHECK(forget_job((*all)[0]));
  CHECK(find_job(state.path, "newer").error().code == Errc::not_found);
  REQUIRE(prepared(loop, state, "third")->publish("third"));  // And is gone.
  CHECK(*forget_ended(state.path) == std::vector<std::string>{"third"});
}

TEST_CASE("job record: a stop is asked for through its socket, and the end is waited for") {
  State state;
  loop::Loop loop;
  int stops = 0;
  std::unique_ptr<JobRecord> record = prepared(loop, state, "demo", [&] { return ++stops > 1; });
  REQUIRE(record->publish("demo"));
  const FoundJob job = *find_job(state.path, "demo");
  bool over = false;
  loop::Tasks waiting(loop);
  const auto wait = [&]() -> loop::Task<> {
    const Result<void> ended = co_await wait_for_end(loop, job);
    CHECK(ended);
    over = true;
  };
  waiting.start(wait());
  const auto story = [&]() -> loop::Task<> {
    const Result<bool> asked = co_await ask_to_stop(loop, job);
    REQUIRE(asked);
    CHECK(!*asked);
    const Result<bool> again = co_await ask_to_stop(loop, job);
    REQUIRE(again);
    CHECK(*again);
    CHECK(stops == 2);
    CHECK(!over);
    record->end(completed(), 143, {});
    record.reset();
    co_await waiting.join();
    CHECK(over);
    const Result<bool> late = co_await ask_to_stop(loop, job);
    REQUIRE(!late);
    CHECK(late.error().code == Errc::closed);
  };
  loop::run_task(loop, story());
}

TEST_CASE("job record: only the newest records are kept, up to limits of number and age") {
  std::vector<RecordSize> records;
  for (int i = 0; i < 5; ++i) records.push_back({std::to_string(i), UnixMillis(i), 10});
  using Names = std::vector<std::string>;
  CHECK(beyond(records, {5, 50}).empty());
  CHECK(beyond(records, {3, 50}) == Names{"1", "0"});
  CHECK(beyond(records, {5, 29}) == Names{"2", "1", "0"});
  CHECK(beyond({}, {0, 0}).empty());
}

TEST_CASE("growth: a folder and a file that is written to by another name") {
  State state;
  loop::Loop loop;
  REQUIRE(make_folders(state.path + "/a"));
  Result<std::unique_ptr<Growth>> opened = Growth::open(loop, state.path + "/a");
  REQUIRE(opened);
  Growth& growth = **opened;
  const std::string other = state.path + "/other", file = state.path + "/a/file";
  const Fd writer(::open(other.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const auto story = [&]() -> loop::Task<> {
    growth.watch(file);  // Not there yet.
    CHECK(::link(other.c_str(), file.c_str()) == 0);
    const bool came = co_await growth.happened();
    CHECK(came);
    growth.watch(file);
    CHECK(write_all(writer.get(), "x"));
    const bool grew = co_await growth.happened();
    CHECK(grew);
    CHECK(write_file(state.path + "/a/text", "renamed into it"));
    const bool renamed = co_await growth.happened();
    CHECK(renamed);
  };
  loop::run_task(loop, story());
}

}  // namespace
}  // namespace muster::places
