#include "server/store/metric_reader.h"

#include <doctest/doctest.h>

#include "server/store/sqlite.h"
#include "server/store/testing.h"

namespace muster::store {
namespace {

TEST_CASE("store: metrics by name and time, the latest of each, and how far they were read") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  REQUIRE(store.put_metrics(
      "one", "algo-1", {{"loss", at(1010), 3}, {"loss", at(1020), 2}, {"loss", at(3000), 1}}, 7));
  REQUIRE(store.put_metrics("one", "algo-2", {{"loss", at(1999), 4}, {"acc", at(5), 0.5}}, 4));
  MetricReader reader = *MetricReader::open(folder.file());
  std::vector<MetricSecond> seconds;
  const auto take = [&](const MetricSecond& each) { return seconds.push_back(each), true; };
  REQUIRE(reader.read("one", "loss", 2, 3, take));
  CHECK(seconds.empty());
  REQUIRE(reader.read("one", "loss", 1, 3, take));
  CHECK(seconds == std::vector<MetricSecond>{{1, 9, 2, 4, 3}});
  CHECK(*store.final_metrics("one") ==
        std::vector<MetricSample>{{"acc", at(5), 0.5}, {"loss", at(3000), 1}});
  CHECK(*store.metrics_read_to("one", "algo-1") == 7);
  CHECK(*store.metrics_read_to("one", "algo-3") == 0);
  REQUIRE(store.put_metrics("none", "algo-1", {{"loss", at(1), 1}}, 1));
}

TEST_CASE("store: a series that nobody waits for is not read to its end") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  constexpr std::int64_t count = 20'000;
  std::vector<MetricSample> samples;
  for (std::int64_t second = 0; second < count; ++second)
    samples.push_back({"loss", at(second * 1000), 1});
  REQUIRE(store.put_metrics("one", "algo-1", samples, count));
  bool is_gone = false;
  MetricReader reader = *MetricReader::open(folder.file(), [&is_gone] { return is_gone; });
  std::int64_t taken = 0;
  const auto take = [&taken](const MetricSecond&) { return ++taken > 0; };
  REQUIRE(reader.read("one", "loss", 0, count, take));
  CHECK(std::exchange(taken, 0) == count);
  is_gone = true;
  CHECK(reader.read("one", "loss", 0, count, take).error().code == Errc::system);
  CHECK(taken < count / 2);
}

MetricSample of_step(const char* name, std::int64_t step, double value, int attempt = 1) {
  return {.name = name, .time = at(step), .value = value, .step = step, .attempt = attempt};
}

std::vector<MetricSecond> steps_of(MetricReader& reader, std::int64_t width, std::int64_t from,
                                   std::int64_t to) {
  std::vector<MetricSecond> found;
  const auto take = [&](const MetricSecond& each) { return found.push_back(each), true; };
  REQUIRE(reader.read_steps("one", "loss", width, from, to, take));
  return found;
}

TEST_CASE("store: metrics by step: mean, minimum and maximum of several ranks") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  REQUIRE(store.put_metrics("one", "algo-1",
                            {of_step("loss", 10, 1),
                             of_step("loss", 10, 3),
                             of_step("loss", 20, 5),
                             {"loss", at(0), 99},
                             {"plain", at(0), 1}},
                            1));
  REQUIRE(store.put_metrics("one", "algo-2", {of_step("loss", 10, 8), of_step("acc", 7, 1)}, 1));
  MetricReader reader = *MetricReader::open(folder.file());
  CHECK(steps_of(reader, 1, 0, 100) ==
        std::vector<MetricSecond>{{10, 12, 1, 8, 3}, {20, 5, 5, 5, 1}});
  CHECK(steps_of(reader, 1, 11, 20).empty());
  CHECK(*reader.spans("one") ==
        std::vector<MetricSpan>{{"acc", 0, 0, 7, 7}, {"loss", 0, 0, 10, 20}, {"plain", 0, 0}});
  // By time, they are as without steps; the latest value is the latest in time.
  CHECK(*store.final_metrics("one") ==
        std::vector<MetricSample>{{"acc", at(7), 1}, {"loss", at(20), 5}, {"plain", at(0), 1}});
  REQUIRE(*store.remove("one"));
  REQUIRE(store.submit(job_named("one")));
  CHECK(steps_of(reader, 1, 0, 100).empty());
}

TEST_CASE("store: a later attempt's values of a step replace an earlier one's, in any order") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  MetricReader reader = *MetricReader::open(folder.file());
  const auto put = [&](const char* host, const std::vector<MetricSample>& samples) {
    REQUIRE(store.put_metrics("one", host, samples, 1));
  };
  put("algo-1", {of_step("loss", 1, 100), of_step("loss", 2, 200), of_step("loss", 2, 1, 2),
                 of_step("loss", 2, 300)});
  put("algo-2", {of_step("loss", 2, 500)});  // Read later, but of the first attempt.
  put("algo-2", {of_step("loss", 2, 3, 2), of_step("loss", 3, 7, 2)});
  const std::vector<MetricSecond> both = {{1, 100, 100, 100, 1}, {2, 4, 1, 3, 2}, {3, 7, 7, 7, 1}};
  CHECK(steps_of(reader, 1, 0, 100) == both);
  for (const std::int64_t width : {64, 4096, 262'144}) {
    CAPTURE(width);
    CHECK(steps_of(reader, width, 0, 100) == std::vector<MetricSecond>{{0, 111, 1, 100, 4}});
  }
  put("algo-1", {of_step("loss", 1, 9, 3)});
  CHECK(steps_of(reader, 1, 0, 2) == std::vector<MetricSecond>{{1, 9, 9, 9, 1}});
  CHECK(steps_of(reader, 4096, 0, 100) == std::vector<MetricSecond>{{0, 20, 1, 9, 4}});
}

TEST_CASE("store: ranges of steps add up at every width, for steps of any size") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  constexpr std::int64_t last = std::int64_t{1} << 53;
  const std::vector<std::int64_t> steps = {0, 63, 64, 4095, 4096, 262'143, 262'144, last - 1, last};
  std::vector<MetricSample> samples;
  for (const std::int64_t step : steps) samples.push_back(of_step("loss", step, 1));
  for (const MetricSample& each : samples) REQUIRE(store.put_metrics("one", "algo-1", {each}, 1));
  REQUIRE(store.put_metrics("one", "algo-2", samples, 1));
  MetricReader reader = *MetricReader::open(folder.file());
  struct {
    std::int64_t width;
    std::vector<std::int64_t> want;
  } const cases[] = {
      {1, steps},
      {64, {0, 64, 4032, 4096, 262'080, 262'144, last - 64, last}},
      {4096, {0, 4096, 258'048, 262'144, last - 4096, last}},
      {262'144, {0, 262'144, last - 262'144, last}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.width);
    std::vector<std::int64_t> found;
    std::int64_t count = 0;
    for (const MetricSecond& each : steps_of(reader, c.width, 0, last + 1)) {
      found.push_back(each.second);
      count += each.count;
    }
    CHECK(found == c.want);
    CHECK(count == 2 * static_cast<std::int64_t>(steps.size()));
  }
}

TEST_CASE("store: a job's values by step have a limit, those by time do not count") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(store.submit(job_named("one")));
  MetricReader reader = *MetricReader::open(folder.file());
  const auto known = [&] {
    auto database = *Database::open_to_read(folder.file());
    Statement row = database->statement("SELECT sum(steps) FROM metrics_read");
    REQUIRE(row.step());
    return row.number(0);
  };
  REQUIRE(store.put_metrics("one", "algo-1", {of_step("loss", 1, 1), {"plain", at(0), 1}}, 1));
  REQUIRE(store.put_metrics("one", "algo-2", {of_step("loss", 1, 2), of_step("loss", 2, 2)}, 1));
  CHECK(known() == 2);
  {
    auto database = *Database::open(folder.file());
    REQUIRE(database->run("UPDATE metrics_read SET steps = 9999998 WHERE host = 'algo-1'"));
  }
  REQUIRE(store.put_metrics("one", "algo-1", {of_step("loss", 3, 1), of_step("loss", 4, 1)}, 2));
  REQUIRE(store.put_metrics("one", "algo-1", {of_step("loss", 5, 1)}, 3));
  CHECK(known() == metric_steps_max);
  CHECK(steps_of(reader, 1, 0, 100).size() == 3);
  CHECK(*store.metrics_read_to("one", "algo-1") == 3);
}

TEST_CASE("store: hosts' usage is kept, thinned, and removed with its job") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(*store.submit(job_named("a")) == Submitted::made);
  REQUIRE(*store.submit(job_named("b")) == Submitted::made);
  CHECK(*store.usage_began("a") == std::nullopt);
  for (std::int64_t i = 0; i < 10; ++i) {
    const HostSample sample{.time = at(1000 * i), .processor = i, .memory = i == 4 ? 99 : 1};
    REQUIRE(store.put_usage("a", {{"algo-10", sample}, {"algo-2", sample}}));
    REQUIRE(store.put_usage("b", {{"algo-1", sample}}));
    REQUIRE(store.put_usage("a", {{"algo-2", sample}}));  // Said twice.
  }
  REQUIRE(store.put_usage("unknown", {{"algo-1", {}}}));
  CHECK(*store.usage_began("a") == at(0));
  MetricReader reader = *MetricReader::open(folder.file());
  CHECK(*reader.hosts("a") ==
        std::vector<HostSpan>{{"algo-2", at(0), at(9000)}, {"algo-10", at(0), at(9000)}});
  CHECK(reader.hosts("none").error().code == Errc::not_found);
  std::vector<HostSample> read;
  const auto take = [&read](const HostSample& each) { read.push_back(each); };
  REQUIRE(reader.usage("a", "algo-2", at(3500), at(6000), take));
  REQUIRE(read.size() == 3);  // And the last before.
  CHECK(read[0].time == at(3000));
  CHECK(read[2] == HostSample{.time = at(5000), .processor = 5, .memory = 1});
  REQUIRE(store.thin_usage("a", "algo-10", std::chrono::milliseconds(4000)));
  read.clear();
  REQUIRE(reader.usage("a", "algo-2", at(0), at(100'000), take));
  CHECK(read.size() == 10);  // Another host's are as they were.
  read.clear();
  REQUIRE(reader.usage("a", "algo-10", at(0), at(100'000), take));
  REQUIRE(read.size() == 3);
  CHECK(read[0].time == at(3000));
  CHECK(read[1] == HostSample{.time = at(7000), .processor = 7, .memory = 99});
  CHECK(read[2].time == at(9000));
  REQUIRE(*store.remove("a"));
  REQUIRE(*store.submit(job_named("a")) == Submitted::made);
  CHECK(reader.hosts("a")->empty());
  read.clear();
  REQUIRE(reader.usage("b", "algo-1", at(0), at(100'000), take));
  CHECK(read.size() == 10);
}

TEST_CASE("store: figures of GPUs are kept, thinned to means, and go with their job") {
  const Folder folder;
  Store store = *Store::open(folder.file());
  REQUIRE(*store.submit(job_named("a")) == Submitted::made);
  REQUIRE(store.put_usage("a", {{"algo-1", {.time = at(0)}}, {"algo-2", {.time = at(0)}}}));
  for (std::int64_t i = 0; i < 6; ++i)
    REQUIRE(store.put_gpus("a", {{"algo-1", {at(1000 * i), 0, 10.0 * static_cast<double>(i), i}},
                                 {"algo-1", {at(1000 * i), 7, 50, i == 1 ? 99 : 1}}}));
  REQUIRE(store.put_gpus("unknown", {{"algo-1", {}}}));
  MetricReader reader = *MetricReader::open(folder.file());
  CHECK(*reader.hosts("a") ==
        std::vector<HostSpan>{{"algo-1", at(0), at(0), true}, {"algo-2", at(0), at(0), false}});
  std::vector<GpuSample> read;
  const auto take = [&read](const GpuSample& each) { read.push_back(each); };
  REQUIRE(reader.gpus("a", "algo-1", at(2000), at(4000), take));
  CHECK(read == std::vector<GpuSample>{{at(2000), 0, 20, 2},
                                       {at(2000), 7, 50, 1},
                                       {at(3000), 0, 30, 3},
                                       {at(3000), 7, 50, 1}});
  REQUIRE(store.thin_usage("a", "algo-1", std::chrono::milliseconds(4000)));
  read.clear();
  REQUIRE(reader.gpus("a", "algo-1", at(0), at(100'000), take));
  CHECK(read == std::vector<GpuSample>{{at(3000), 0, 15, 3},
                                       {at(3000), 7, 50, 99},
                                       {at(5000), 0, 45, 5},
                                       {at(5000), 7, 50, 1}});
  REQUIRE(*store.remove("a"));
  REQUIRE(*store.submit(job_named("a")) == Submitted::made);
  read.clear();
  REQUIRE(reader.gpus("a", "algo-1", at(0), at(100'000), take));
  CHECK(read.empty());
}

}  // namespace
}  // namespace muster::store
