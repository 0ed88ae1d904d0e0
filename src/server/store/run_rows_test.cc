#include "server/store/run_rows.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/store/sqlite.h"
#include "server/store/testing.h"

namespace muster::store {
namespace {

/// All rows of a statement, cells separated by spaces, rows by "; ".
std::string rows_of(const Folder& folder, const char* text, int columns) {
  const std::unique_ptr<Database> database = *Database::open_to_read(folder.file());
  Statement rows = database->statement(text);
  std::string all;
  while (*rows.step()) {
    for (int i = 0; i < columns; ++i)
      all += (i > 0         ? " "
              : all.empty() ? ""
                            : "; ") +
             (rows.kind(i) == Statement::Kind::null ? "-" : rows.text(i));
  }
  return all;
}

std::string metrics_of(const Folder& folder, const char* job) {
  const std::string text =
      std::string(
          "SELECT n.name, m.time, m.last, m.least, m.most FROM run_metrics AS m JOIN "
          "run_names AS n ON n.id = m.name JOIN jobs ON jobs.number = m.job WHERE "
          "jobs.name = '") +
      job + "' ORDER BY n.name";
  return rows_of(folder, text.c_str(), 5);
}

std::string values_of(const Folder& folder, const char* job) {
  const std::string text =
      std::string(
          "SELECT n.kind, n.name, typeof(v.value), v.value, v.text FROM run_values AS v "
          "JOIN run_names AS n ON n.id = v.name JOIN jobs ON jobs.number = v.job WHERE "
          "jobs.name = '") +
      job + "' ORDER BY n.kind, n.name";
  return rows_of(folder, text.c_str(), 5);
}

std::string names(const Folder& folder) {
  return rows_of(folder, "SELECT kind, name, jobs FROM run_names ORDER BY kind, name", 3);
}

NewJob job_with(const char* name, const Json& parameters, const Tags& tags = {}) {
  NewJob job = job_named(name);
  job.request = to_text(Json{{"HyperParameters", parameters}});
  job.tags = tags;
  return job;
}

TEST_CASE("runs: a metric's last, least and highest values as its samples arrive") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  REQUIRE(store.put_metrics("one", "algo-1", {{"loss", at(30), 3}, {"loss", at(20), 9}}, 1));
  CHECK(metrics_of(folder, "one") == "loss 30 3.0 3.0 9.0");
  REQUIRE(store.put_metrics("one", "algo-2", {{"loss", at(10), 1}, {"acc", at(5), 0.5}}, 1));
  CHECK(metrics_of(folder, "one") == "acc 5 0.5 0.5 0.5; loss 30 3.0 1.0 9.0");
  REQUIRE(store.put_metrics("one", "algo-2", {{"loss", at(30), 4}}, 2));
  CHECK(metrics_of(folder, "one") == "acc 5 0.5 0.5 0.5; loss 30 4.0 1.0 9.0");
  CHECK(store.final_metrics("one")->at(1) == MetricSample{"loss", at(30), 4});
  CHECK(names(folder) == "2 acc 1; 2 loss 1");
}

TEST_CASE("runs: of a job's metrics, the first 100 are in the table") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  REQUIRE(store.put_metrics("one", "algo-1", {{"z", at(1), 1}}, 1));
  std::vector<MetricSample> samples;
  for (int i = 0; i < 5000; ++i) samples.push_back({"m" + std::to_string(i), at(2), 1});
  REQUIRE(store.put_metrics("one", "algo-1", samples, 2));
  REQUIRE(store.put_metrics("one", "algo-1", samples, 3));
  REQUIRE(store.put_metrics("one", "algo-1", {{"z", at(3), 2}}, 4));
  CHECK(rows_of(folder, "SELECT count(*), count(DISTINCT name) FROM run_metrics", 2) == "100 100");
  CHECK(rows_of(folder, "SELECT count(*), sum(jobs) FROM run_names", 2) == "100 100");
  CHECK(rows_of(folder, "SELECT last FROM run_metrics WHERE time = 3", 1) == "2.0");
}

TEST_CASE("runs: hyperparameters and tags of a job within limits") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_with("one",
                                {{"lr", "1e-4"},
                                 {"n", "32"},
                                 {"padded", "032"},
                                 {"opt", "\"adam\""},
                                 {"flag", true},
                                 {"", "x"},
                                 {std::string(257, 'n'), "x"},
                                 {"sagemaker_job_name", "one"}},
                                {{"team", "a"}, {"team", "b"}})));
  CHECK(values_of(folder, "one") ==
        "0 lr real 0.0001 1e-4; 0 n integer 32 -; 0 opt text adam -; 0 padded integer 32 032; "
        "1 team text b -");
  Json many = Json::object();
  for (int i = 0; i < 1000; ++i) many["p" + std::to_string(i)] = "1";
  REQUIRE(store.submit(job_with("many", many)));
  CHECK(rows_of(folder, "SELECT count(*) FROM run_values WHERE job = 2", 1) == "100");
  for (const char* request :
       {"", "[]", "{\"HyperParameters\": 7}", "{\"HyperParameters\": null}", "not JSON"}) {
    NewJob job = job_named("job-" + std::to_string(std::string(request).size()));
    job.request = request;
    CHECK(*store.submit(job) == Submitted::made);
  }
}

/// Takes the store back to what an earlier muster would have left.
void make_old(const Folder& folder) {
  const std::unique_ptr<Database> database = *Database::open(folder.file());
  REQUIRE(database->run(without_runs));
}

void submit_some(Store& store, int jobs) {
  for (int i = 0; i < jobs; ++i) {
    const std::string name = "job-" + std::to_string(i);
    REQUIRE(store.submit(
        job_with(name.c_str(), {{"lr", std::to_string(i)}}, {{"team", i % 2 == 0 ? "a" : "b"}})));
    REQUIRE(store.put_metrics(
        name, "algo-1",
        {{"loss", at(1000), i + 2.0}, {"loss", at(70'000), i + 0.0}, {"loss", at(80'000), i + 1.0}},
        1));
  }
}

constexpr const char* everything =
    "SELECT v.job, n.kind, n.name, v.value, v.text, n.jobs FROM run_values AS v JOIN run_names AS "
    "n ON n.id = v.name UNION ALL SELECT m.job, m.last, m.least, m.most, m.time, n.jobs FROM "
    "run_metrics AS m JOIN run_names AS n ON n.id = m.name ORDER BY 1, 2, 3";

TEST_CASE("runs: the jobs of an earlier muster are added when the store is opened") {
  const Folder folder;
  std::string before;
  {
    Store store = *Store::open(folder.file());
    submit_some(store, 450);
    REQUIRE(*store.remove("job-7"));
    before = rows_of(folder, everything, 6);
  }
  make_old(folder);
  std::vector<std::pair<std::int64_t, std::int64_t>> told;
  const auto progress = [&](std::int64_t done, std::int64_t all) { told.emplace_back(done, all); };
  {
    Store store = *Store::open(folder.file(), progress);
    CHECK(rows_of(folder, everything, 6) == before);
    CHECK(told == decltype(told){{200, 449}, {400, 449}, {449, 449}});
    REQUIRE(store.submit(job_with("later", {{"lr", "7"}})));
    REQUIRE(*store.remove("job-8"));
  }
  told.clear();
  Store store = *Store::open(folder.file(), progress);
  CHECK(told.empty());
  CHECK(values_of(folder, "later") == "0 lr integer 7 -");
}

TEST_CASE("runs: a fill that was interrupted continues, and adds each job once") {
  const Folder folder;
  std::string before;
  {
    Store store = *Store::open(folder.file());
    submit_some(store, 450);
    before = rows_of(folder, everything, 6);
  }
  make_old(folder);
  struct Killed {};
  int turns = 0;
  try {
    (void)Store::open(folder.file(), [&](std::int64_t, std::int64_t) {
      if (++turns == 2) throw Killed{};
    });
  } catch (const Killed&) {
  }
  CHECK(rows_of(folder, "SELECT job, until FROM runs_fill", 2) == "400 450");
  std::vector<std::int64_t> told;
  Store store =
      *Store::open(folder.file(), [&](std::int64_t done, std::int64_t) { told.push_back(done); });
  CHECK(told == std::vector<std::int64_t>{450});
  CHECK(rows_of(folder, everything, 6) == before);
  CHECK(rows_of(folder,
                "SELECT count(*) FROM sqlite_schema WHERE name IN ('runs_fill', "
                "'run_metrics_most')",
                1) == "1");
}

}  // namespace
}  // namespace muster::store
