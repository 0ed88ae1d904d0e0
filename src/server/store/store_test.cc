#include "server/store/store.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "base/fd.h"
#include "server/store/metric_reader.h"
#include "server/store/sqlite.h"
#include "server/store/testing.h"

namespace muster::store {
namespace {

/// What a store of version 11 and before does not have.
constexpr const char* newest =
    "DROP TABLE metric_steps; ALTER TABLE metrics_read DROP COLUMN steps; "
    "ALTER TABLE jobs DROP COLUMN manifests; "
    "DROP INDEX jobs_modified; DROP INDEX jobs_status_created; DROP INDEX jobs_streams_name; "
    "DROP INDEX jobs_streams_created; DROP TABLE sessions; DROP TABLE change_sets; "
    "ALTER TABLE stacks DROP COLUMN status; ALTER TABLE stacks DROP COLUMN updated; ";

std::string names(const std::vector<JobSummary>& jobs) {
  std::string all;
  for (const JobSummary& each : jobs) all += each.name + " ";
  return all;
}

TEST_CASE("store: a write can be tried again and again") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  CHECK(store.try_write(at(1)));
  CHECK(store.try_write(at(2)));
}

TEST_CASE("store: the last run of a job's code is the one before it") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  const auto submit = [&](const std::string& name, const char* image, const char* program,
                          int hosts) {
    NewJob job = job_named(name);
    job.request = std::string(R"({"AlgorithmSpecification":{"TrainingImage":")") + image +
                  R"("},"HyperParameters":{"sagemaker_program":")" + program + R"(","rate":")" +
                  name + R"("},"ResourceConfig":{"InstanceCount":)" + std::to_string(hosts) + "}}";
    CHECK(*store.submit(job) == Submitted::made);
  };
  submit("one", "a", "train.py", 1);
  submit("image", "b", "train.py", 1);
  submit("program", "a", "test.py", 1);
  submit("hosts", "a", "train.py", 2);
  submit("two", "a", "train.py", 1);
  submit("three", "a", "train.py", 1);
  CHECK(*store.last_run("three") == "two");
  CHECK(*store.last_run("two") == "one");
  for (const char* first : {"one", "image", "program", "hosts", "unknown", ""})
    CHECK(store.last_run(first)->empty());
  REQUIRE(store.submit(job_named("bare")));  // No program, no image: as another such job.
  REQUIRE(store.submit(job_named("bare-too")));
  CHECK(*store.last_run("bare-too") == "bare");
}

TEST_CASE("store: a job is stored as it was submitted, after a restart too") {
  const Folder folder;
  {
    Store store = *Store::open(folder.file());
    NewJob job = job_named("one");
    job.tags = {{"b", "2"}, {"a", "1"}};
    CHECK(*store.submit(job) == Submitted::made);
    CHECK(*store.submit(job) == Submitted::taken);
  }
  Store store = *Store::open(folder.file());
  const std::optional<Job> job = *store.job("one");
  REQUIRE(job);
  CHECK(job->arn == "arn:one");
  CHECK(job->request == "{\"RoleArn\":\"r\"}");
  CHECK(job->state == first_state(at(1000)));
  CHECK(*store.tags("arn:one") == Tags{{"a", "1"}, {"b", "2"}});
  CHECK(!*store.job("two"));
  struct stat status {};
  REQUIRE(::stat(folder.file().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("store: jobs are counted by status, and every change of one is a new revision") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  CHECK(store.counts()->empty());
  std::uint64_t revision = store.revision();
  const auto changed = [&] { return std::exchange(revision, store.revision()) != revision; };
  CHECK(*store.submit(job_named("one")) == Submitted::made);
  CHECK(changed());
  CHECK(*store.submit(job_named("one")) == Submitted::taken);
  CHECK(!changed());
  CHECK(*store.submit(job_named("two")) == Submitted::made);
  CHECK(*store.set_status("two", {Status::stopped, "Stopped", "", at(2000)}));
  CHECK(changed());
  using Counts = std::vector<std::pair<Status, std::int64_t>>;
  CHECK(*store.counts() == Counts{{Status::in_progress, 1}, {Status::stopped, 1}});
  CHECK(*store.remove("two"));
  CHECK(changed());
  CHECK(*store.counts() == Counts{{Status::in_progress, 1}});
  const std::uint64_t before = store.effort();
  CHECK(*store.counts() == Counts{{Status::in_progress, 1}});
  CHECK(store.effort() == before);  // Not counted again: every viewer of the page asks.
}

TEST_CASE("store: the same call again makes no second job, another call with its name is refused") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  NewJob job = job_named("one");
  job.invocation = "call-1";
  CHECK(*store.submit(job) == Submitted::made);
  CHECK(*store.submit(job) == Submitted::repeated);
  job.invocation = "call-2";
  CHECK(*store.submit(job) == Submitted::taken);
  NewJob other = job_named("two");
  other.invocation = "call-1";
  CHECK(*store.submit(other) == Submitted::made);
}

TEST_CASE("store: a status and its other fields are one change, and the end is final") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  REQUIRE(store.submit(job_named("two")));
  REQUIRE(store.add_key({"AK1", "secret", "token", "one", "{}", at(1)}));
  CHECK(*store.unfinished() == std::vector<UnfinishedJob>{{"one", ""}, {"two", ""}});
  CHECK(store.unfinished("in no request")->empty());
  CHECK(*store.set_status("one", {Status::in_progress, "Training", "m", at(2000)}));
  CHECK(!*store.set_status("none", {Status::in_progress, "Training", "m", at(2000)}));
  CHECK(*store.key("AK1"));
  CHECK(*store.finish("one", {.change = {Status::failed, "Failed", "why", at(3000)},
                              .failure_reason = "AlgorithmError: why",
                              .cause = "{\"rank\":3}",
                              .model_artifacts = "s3://b/model.tar.gz"}));
  CHECK(!*store.finish("one", {.change = {Status::completed, "Completed", "", at(4000)}}));
  const Job job = **store.job("one");
  CHECK(job.state.status == Status::failed);
  CHECK(job.state.transitions.size() == 3);
  CHECK(job.state.training_end == at(3000));
  CHECK(job.modified == at(3000));
  CHECK(job.failure_reason == "AlgorithmError: why");
  CHECK(job.cause == "{\"rank\":3}");
  CHECK(job.model_artifacts == "s3://b/model.tar.gz");
  CHECK(!*store.key("AK1"));
  CHECK(*store.unfinished() == std::vector<UnfinishedJob>{{"two", ""}});
}

TEST_CASE("store: lists filter, sort and go on where a page ended") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  for (const char* name : {"b-1", "a-1", "c-2"}) REQUIRE(store.submit(job_named(name)));
  NewJob grouped = job_named("a-2");
  grouped.request = R"({"ResourceConfig":{"InstanceGroups":[{"InstanceType":"ml.p4d.24xlarge"},
    {"InstanceType":"ml.c5.large"},{"InstanceType":"ml.c5.large"}]},
    "HyperParameters":{"InstanceType":"ml.g5.xlarge"}})";
  grouped.tags = {{"phase", ""}, {"team", "vision"}};
  REQUIRE(store.submit(grouped));
  NewJob late = job_named("late", at(9000));
  late.request = R"({"ResourceConfig":{"InstanceType":"ml.p4d.24xlarge"}})";
  late.tags = {{"team", "speech"}};
  REQUIRE(store.submit(late));
  REQUIRE(store.finish("a-1", {.change = {Status::completed, "Completed", "", at(5000)}}));
  struct {
    const char* name;
    JobQuery query;
    const char* want;
  } const cases[] = {
      {"by time", {}, "b-1 a-1 c-2 a-2 late "},
      {"newest first", {.descending = true, .limit = 2}, "late a-2 "},
      {"by name", {.sort_by = SortBy::name}, "a-1 a-2 b-1 c-2 late "},
      {"by status", {.sort_by = SortBy::status}, "a-1 b-1 c-2 a-2 late "},
      {"a part of the name", {.name_contains = "-2"}, "c-2 a-2 "},
      {"no pattern", {.name_contains = "%"}, ""},
      {"the beginning of names", {.sort_by = SortBy::name, .name_prefix = "a-"}, "a-1 a-2 "},
      {"the same by time", {.descending = true, .name_prefix = "a"}, "a-2 a-1 "},
      {"by change", {.sort_by = SortBy::modified}, "b-1 c-2 a-2 a-1 late "},
      {"with streams", {.has_streams = true}, ""},
      {"a status", {.status = Status::completed}, "a-1 "},
      {"created after", {.created_after = at(1000)}, "late "},
      {"created before", {.created_before = at(9000), .limit = 9}, "b-1 a-1 c-2 a-2 "},
      {"modified between", {.modified_after = at(4999), .modified_before = at(5001)}, "a-1 "},
      {"an instance type", {.instance_type_contains = "p4d"}, "a-2 late "},
      {"one of a group", {.instance_type_contains = "ml.c5.large"}, "a-2 "},
      {"a word of another part", {.instance_type_contains = "g5"}, ""},
      {"a tag", {.descending = true, .tag_key = "team"}, "late a-2 "},
      {"a tag's value", {.tag_key = "team", .tag_value = "vision"}, "a-2 "},
      {"an empty value", {.tag_key = "phase", .tag_value = ""}, "a-2 "},
      {"the value of another tag", {.tag_key = "phase", .tag_value = "vision"}, ""},
      {"all at once",
       {.sort_by = SortBy::name,
        .name_contains = "a",
        .status = Status::in_progress,
        .created_after = at(0),
        .created_before = at(9000),
        .modified_after = at(0),
        .modified_before = at(9000),
        .instance_type_contains = "ml",
        .tag_key = "team",
        .tag_value = "vision"},
       "a-2 "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(names(*store.list(c.query)) == c.want);
  }
  for (const SortBy sort_by :
       {SortBy::name, SortBy::creation_time, SortBy::status, SortBy::modified})
    for (const bool descending : {false, true}) {
      JobQuery query{.sort_by = sort_by, .descending = descending};
      const std::string whole = names(*store.list(query));
      query.limit = 1;
      std::string paged;
      for (auto page = *store.list(query); !page.empty(); page = *store.list(query)) {
        paged += names(page);
        query.after = {sort_key(page.back(), sort_by), page.back().number};
      }
      CHECK(paged == whole);
    }
}

/// Reads all pages of a list, and returns how many jobs a page looked at, at most.
std::size_t most_looked_at(Store& store, JobQuery query, std::size_t& found) {
  std::size_t most = 0;
  found = 0;
  while (true) {
    const JobPage page = *store.page(query);
    most = std::max(most, page.looked_at);
    found += page.jobs.size();
    if (!page.next) return most;
    query.after = page.next;
  }
}

TEST_CASE("store: a page costs what is looked at, not what there is") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  constexpr std::size_t count = 600;
  for (std::size_t number = 0; number < count; ++number) {
    NewJob job = job_named("job-" + std::to_string(number));
    job.tags = {{"team", number % 300 == 7 ? "rare" : "common"}};
    REQUIRE(store.submit(job));
  }
  REQUIRE(store.finish("job-5", {.change = {Status::failed, "Failed", "", at(5000)}}));
  REQUIRE(store.set_status("job-9", {Status::in_progress, "Training", "", at(6000)}));
  struct {
    const char* name;
    JobQuery query;
    std::size_t found;
    bool by_index;  ///< An index leads there: what does not match is not even looked at.
  } const cases[] = {
      {"all", {}, count, true},
      {"a part of the name", {.name_contains = "-59"}, 11, false},
      {"no such name", {.name_contains = "none"}, 0, false},
      {"a prefix", {.sort_by = SortBy::name, .name_prefix = "job-59"}, 11, true},
      {"a status", {.descending = true, .status = Status::failed}, 1, true},
      {"a status by name", {.sort_by = SortBy::name, .status = Status::failed}, 1, false},
      {"a rare tag", {.tag_key = "team", .tag_value = "rare"}, 2, false},
      {"no such tag", {.tag_key = "none"}, 0, false},
      {"created later", {.created_after = at(1000)}, 0, true},
      {"changed", {.sort_by = SortBy::modified, .modified_after = at(4000)}, 2, true},
      {"an instance type", {.instance_type_contains = "ml."}, 0, false},
      {"streams by name", {.sort_by = SortBy::name, .has_streams = true}, 1, true},
      {"streams by time", {.has_streams = true}, 1, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    JobQuery query = c.query;
    query.looked_at_max = 50;
    std::size_t found = 0;
    CHECK(most_looked_at(store, query, found) <= 50);
    CHECK(found == c.found);
    const std::uint64_t before = store.effort();
    const JobPage page = *store.page(query);
    CHECK(store.effort() - before < 5000);
    if (c.by_index) CHECK(page.looked_at == std::min<std::size_t>(c.found, query.limit));
  }
}

TEST_CASE("store: jobs of an older store are found by their instance types") {
  const Folder folder;
  {
    Store store = *Store::open(folder.file());
    NewJob job = job_named("old");
    job.request = R"({"ResourceConfig":{"InstanceType":"ml.p4d.24xlarge"}})";
    REQUIRE(store.submit(job));
    REQUIRE(store.submit(job_named("without")));
    auto database = *Database::open(folder.file());
    REQUIRE(database->run(std::string(without_runs) + newest +
                          "DROP TABLE host_gpus; DROP INDEX tags_values; "
                          "DROP TABLE instance_types; "
                          "ALTER TABLE access_keys DROP COLUMN makers; PRAGMA user_version=8"));
  }
  Store store = *Store::open(folder.file());
  CHECK(names(*store.list({.instance_type_contains = "p4d"})) == "old ");
}

TEST_CASE("store: the data of started jobs for the accounts of keys") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  for (const char* name : {"waits", "runs", "ended", "long-ago"})
    REQUIRE(store.submit({.name = name,
                          .arn = "arn:" + std::string(name),
                          .request = name,
                          .tags = {{"p", "7"}},
                          .now = UnixMillis(1000),
                          .invocation = "",
                          .access_key = "AK"}));
  CHECK((*store.job("runs"))->access_key == "AK");
  for (const char* name : {"runs", "ended", "long-ago"})
    REQUIRE(store.set_status(name, {Status::in_progress, "Training", "", UnixMillis(2000)}));
  REQUIRE(
      store.finish("ended", {.change = {Status::completed, "Completed", "", UnixMillis(9000)}}));
  REQUIRE(store.finish("long-ago", {.change = {Status::failed, "Failed", "", UnixMillis(5000)}}));
  REQUIRE(store.remove_tags("arn:ended", {"p"}));
  CHECK(store.ended_after(UnixMillis(9000), 9, "p", 10)->empty());
  CHECK(store.ended_after(UnixMillis(0), 0, "p", 1)->at(0).request == "long-ago");
  const std::vector<EndedJob> got = *store.ended_after(UnixMillis(5000), 4, "p", 10);
  REQUIRE(got.size() == 1);
  CHECK(got[0].number == 3);
  CHECK(got[0].request == "ended");
  CHECK(got[0].access_key == "AK");
  CHECK(got[0].tag.empty());
  CHECK(got[0].created == UnixMillis(1000));
  CHECK(got[0].started == UnixMillis(2000));
  CHECK(got[0].ended == UnixMillis(9000));
}

TEST_CASE("store: tags are replaced, bounded as a whole, and removed") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  CHECK(*store.add_tags("arn", {{"a", "1"}, {"b", "2"}}, 2));
  CHECK(*store.add_tags("arn", {{"a", "3"}}, 2));
  CHECK(!*store.add_tags("arn", {{"b", "9"}, {"c", "1"}}, 2));
  CHECK(*store.tags("arn") == Tags{{"a", "3"}, {"b", "2"}});
  REQUIRE(store.remove_tags("arn", {"a", "none"}));
  CHECK(*store.tags("arn") == Tags{{"b", "2"}});
}

TEST_CASE("store: metrics are kept by the minute too, also those of an older store") {
  const Folder folder;
  {
    Store store = *Store::open(folder.file());
    REQUIRE(store.submit(job_named("one")));
    const auto samples = [](std::int64_t from) {
      std::vector<MetricSample> all;
      for (std::int64_t second = from; second < from + 60; second += 20)
        all.push_back({"loss", UnixMillis(second * 1000), static_cast<double>(second)});
      return all;
    };
    REQUIRE(store.put_metrics("one", "algo-1", samples(100), 1));
    REQUIRE(store.put_metrics("one", "algo-2", samples(110), 1));
  }
  for (const bool old : {false, true}) {
    CAPTURE(old);
    if (old) {
      auto database = *Database::open(folder.file());
      REQUIRE(database->run(std::string(without_runs) + newest +
                            "DROP TABLE metric_minutes; DROP TABLE host_usage; "
                            "DROP TABLE host_gpus; DROP INDEX tags_values; "
                            "DROP TABLE instance_types; "
                            "ALTER TABLE access_keys DROP COLUMN makers; PRAGMA user_version=6"));
    }
    REQUIRE(Store::open(folder.file()));
    MetricReader reader = *MetricReader::open(folder.file());
    std::vector<MetricSecond> minutes;
    const auto take = [&](const MetricSecond& each) {
      minutes.push_back(each);
      return true;
    };
    REQUIRE(reader.read_minutes("one", "loss", 0, 1000, take));
    CHECK(minutes == std::vector<MetricSecond>{{60, 210, 100, 110, 2}, {120, 540, 120, 150, 4}});
    minutes.clear();
    REQUIRE(reader.read_minutes("one", "loss", 61, 120, take));
    CHECK(minutes.empty());
  }
}

TEST_CASE("store: a removed job leaves nothing to the next job with its name") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  NewJob job = job_named("one");
  job.tags = {{"a", "1"}};
  job.invocation = "call-1";
  REQUIRE(store.submit(job));
  REQUIRE(store.put_metrics("one", "algo-1", {{"loss", at(10), 3}}, 7));
  REQUIRE(store.put_note("one", "{\"pid\":1}"));
  CHECK((*store.job("one"))->note == "{\"pid\":1}");
  REQUIRE(store.put_notes("one", "a\nb"));
  CHECK((*store.job("one"))->notes == "a\nb");
  CHECK(*store.remove("one"));
  CHECK(!*store.remove("one"));
  CHECK(store.tags("arn:one")->empty());
  CHECK(*store.submit(job_named("one")) == Submitted::made);
  CHECK((*store.job("one"))->number == 2);
  CHECK(store.final_metrics("one")->empty());
  CHECK(*store.metrics_read_to("one", "algo-1") == 0);
}

TEST_CASE("store: a job's many rows are removed a bounded number at a time, and no other job's") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  std::vector<MetricSample> samples;
  for (std::int64_t second = 0; second < 3000; ++second)
    samples.push_back({"loss", at(second * 1000), 1, second});
  for (const char* name : {"one", "two"}) {
    REQUIRE(store.submit(job_named(name)));
    REQUIRE(store.put_metrics(name, "algo-1", samples, 3000));
    REQUIRE(store.put_usage(name, {{"algo-1", {.time = at(1000)}}}));
    REQUIRE(store.put_gpus(name, {{"algo-1", {.time = at(1000)}}}));
  }
  int turns = 0;
  for (bool has_more = true; has_more; ++turns) {
    const std::uint64_t before = store.effort();
    const Result<bool> removed = store.remove_rows("one", 500);
    REQUIRE(removed);
    has_more = *removed;
    CHECK(store.effort() - before < 50'000);
  }
  CHECK(turns >= 13);  // 3,000 seconds and as many steps, 50 minutes and three more.
  CHECK(store.job("one")->has_value());
  const std::uint64_t before = store.effort();
  CHECK(*store.remove("one"));
  CHECK(store.effort() - before < 1000);
  CHECK(!*store.remove_rows("none", 500));
  MetricReader reader = *MetricReader::open(folder.file());
  CHECK(reader.spans("two")->front().last == 2999);
  CHECK(reader.hosts("two")->front().has_gpus);
}

TEST_CASE("store: keys of users are listed, those of jobs are only found") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.add_key({"AK1", "s1", "", "", "", at(2)}));
  REQUIRE(store.add_key({"AK2", "s2", "t", "job", "{}", at(1)}));
  CHECK(!store.add_key({"AK1", "s3", "", "", "", at(3)}));
  CHECK(store.keys()->size() == 1);
  CHECK((*store.key("AK2"))->token == "t");
  AccessKey third{"AK3", "s3", "", "", "", at(3), "of the notebook"};
  REQUIRE(store.add_key(third));
  CHECK(store.keys()->back().comment == "of the notebook");
  CHECK(*store.remove_key("AK1", false) == KeyRemoval::removed);
  CHECK(*store.remove_key("AK1", false) == KeyRemoval::unknown);
  CHECK(!*store.key("AK1"));
  CHECK(*store.remove_key("AK2", true) == KeyRemoval::unknown);  // A job's.
  CHECK(*store.remove_key("AK3", false) == KeyRemoval::last);
  CHECK(*store.remove_key("AK3", true) == KeyRemoval::removed);
  CHECK(store.keys()->empty());
}

TEST_CASE("store: a newer muster's file and an invalid file are refused") {
  const Folder folder;
  REQUIRE(Store::open(folder.file()));
  {
    const std::unique_ptr<Database> database = *Database::open(folder.file());
    REQUIRE(database->run("PRAGMA user_version=99"));
  }
  CHECK(Store::open(folder.file()).error().code == Errc::invalid_input);
  REQUIRE(write_file(folder.path + "/other", std::string(8192, 'x')));
  CHECK(Store::open(folder.path + "/other").error().code == Errc::system);
  CHECK(Store::open(folder.path + "/none/store.db").error().code == Errc::not_found);
}

TEST_CASE("store: a kill at any moment loses nothing that was answered, and leaves no half job") {
  const Folder folder;
  for (int round = 0; round < 5; ++round) {
    Pipe pipe = *make_pipe();
    const pid_t child = ::fork();
    if (child == 0) {
      Result<Store> store = Store::open(folder.file());
      for (int i = 0; store && i < 100000; ++i) {
        const std::string name = "j" + std::to_string(round) + "-" + std::to_string(i);
        if (!store->submit(job_named(name))) break;
        if (!store->finish(name, {.change = {Status::completed, "Completed", "", at(2000)}})) break;
        if (!write_all(pipe.write.get(), "+")) break;
      }
      ::_exit(1);
    }
    // Each round is cut a little later; a read waits for an answered job.
    int answered = 0;
    for (char byte = 0; answered < 3 + 7 * round; ++answered)
      REQUIRE(::read(pipe.read.get(), &byte, 1) == 1);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    Store store = *Store::open(folder.file());
    for (int i = 0; i < answered; ++i) {
      const std::optional<Job> job =
          *store.job("j" + std::to_string(round) + "-" + std::to_string(i));
      REQUIRE(job);
      CHECK(job->state.status == Status::completed);
    }
    const std::vector<JobSummary> all = *store.list({.limit = 100000});
    for (const JobSummary& each : all) REQUIRE(store.job(each.name));
  }
}

}  // namespace
}  // namespace muster::store
