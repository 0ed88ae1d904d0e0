#include "cli/view/own_metrics.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "cli/view/job_view.h"
#include "job/wire/journal.h"

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

TEST_CASE("own metrics: the first line that tells one, of the latest attempt") {
  const std::string folder = *make_private_folder("/tmp", "muster-metrics-");
  std::string journal;
  std::uint64_t seq = 0;
  const auto add = [&](std::int64_t ms, const char* text) {
    job::append_record(journal, ++seq, UnixMillis(ms), job::Message::lines,
                       job::encode(lines(text)));
  };
  add(1000, "loss=1\n");
  add(2000, "restarts\n");
  add(3000, "nothing\nloss=2\n");
  add(4000, "loss=3\n");
  REQUIRE(write_file(folder + "/journal", journal + "damaged"));
  const auto first = [&](std::int64_t since) {
    return *first_metric(losses(), folder + "/journal", UnixMillis(since));
  };
  CHECK(first(2000) == UnixMillis(3000));
  CHECK(first(3500) == UnixMillis(4000));
  CHECK(first(9000) == std::nullopt);
  CHECK(*first_metric(losses(), folder + "/none", UnixMillis(0)) == std::nullopt);
  ::unlink((folder + "/journal").c_str());
  ::rmdir(folder.c_str());
}

}  // namespace
}  // namespace muster::cli
