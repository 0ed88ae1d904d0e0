#include "server/store/metric_reader.h"

#include <doctest/doctest.h>

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
