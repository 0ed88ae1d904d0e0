#include "cli/view/own_metrics.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/view/job_view.h"

namespace muster::cli {
namespace {

job::MetricDefinitions losses() {
  return *job::MetricDefinitions::from({{"loss", "loss=([0-9.]+)"}, {"none", "none=(.*)"}});
}

job::Lines lines(std::string bytes, int rank = 0) {
  return {.rank = rank, .stream = job::Stream::out, .bytes = std::move(bytes)};
}

TEST_CASE("own metrics: the last value counts, of lines however they come") {
  OwnMetrics metrics(losses());
  CHECK(metrics.last() == Json::array());
  metrics.take("algo-1", UnixMillis(1000), lines("loss=3\nloss=2\nnone=x\nlos"));
  metrics.take("algo-1", UnixMillis(2000), lines("a line of another rank\n", 1));
  metrics.take("algo-1", UnixMillis(3500), lines("s=1.5\n"));
  metrics.take("algo-2", UnixMillis(4000), lines("loss=9"));  // The line may go on.
  const Json want = Json::array({{{"MetricName", "loss"}, {"Value", 1.5}, {"Timestamp", 3.5}}});
  CHECK(metrics.last() == want);
  CHECK(metrics_line({{"FinalMetricDataList", want}}) == "Metrics: loss 1.5\n");
  CHECK(metrics_line({}) == "");
}

TEST_CASE("own metrics: expressions see the line with its rank's tag, as they do on a server") {
  OwnMetrics metrics(
      *job::MetricDefinitions::from({{"start", "^loss=([0-9.]+)"}, {"rank", "mpirank:([0-9]+)"}}));
  metrics.take("algo-1", UnixMillis(1000), lines("loss=3\n", 2));
  CHECK(metrics.last() ==
        Json::array({{{"MetricName", "rank"}, {"Value", 2.0}, {"Timestamp", 1.0}}}));
  job::Lines alone = lines("loss=4\n");
  alone.alone = true;
  metrics.take("algo-1", UnixMillis(2000), alone);
  CHECK(metrics.last().back() ==
        Json({{"MetricName", "start"}, {"Value", 4.0}, {"Timestamp", 2.0}}));
}

}  // namespace
}  // namespace muster::cli
