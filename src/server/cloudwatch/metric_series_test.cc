#include "server/cloudwatch/metric_series.h"

#include <doctest/doctest.h>

namespace muster::cloudwatch {
namespace {

store::MetricSecond one(std::int64_t second, double value) {
  return {second, value, value, value, 1};
}

TEST_CASE("metric series: as many buckets as are asked for, of whole seconds") {
  struct {
    std::int64_t from, to, most, width;
    std::size_t buckets;
  } const cases[] = {{0, 1, 1, 1, 1},         {0, 1, 1000, 1, 1},
                     {0, 10, 10, 1, 10},      {0, 10, 3, 4, 3},
                     {100, 110, 4, 3, 4},     {-5, 5, 2, 5, 2},
                     {0, 1001, 1000, 2, 501}, {0, 100'000'000'000, 2, 50'000'000'000, 2}};
  for (const auto& c : cases) {
    CAPTURE(c.to);
    const MetricBuckets buckets(c.from, c.to, c.most);
    CHECK(buckets.width() == c.width);
    REQUIRE(buckets.buckets().size() == c.buckets);
    CHECK(buckets.buckets().front().second == c.from);
    CHECK(buckets.buckets().back().second < c.to);
    CHECK(buckets.buckets().back().second + c.width >= c.to);
  }
}

TEST_CASE("metric series: a single outlier is visible at every width") {
  constexpr std::int64_t seconds = 10'000, spike = 7'777;
  for (std::int64_t most = 1; most <= seconds; most *= 10) {
    CAPTURE(most);
    MetricBuckets buckets(0, seconds, most);
    for (std::int64_t i = 0; i < seconds; ++i) buckets.add(one(i, i == spike ? 1000.0 : 1.0));
    std::int64_t count = 0, seen = 0;
    for (const store::MetricSecond& each : buckets.buckets()) {
      count += each.count;
      if (each.most < 1000) continue;
      ++seen;
      CHECK((each.second <= spike && spike < each.second + buckets.width()));
    }
    CHECK(seen == 1);
    CHECK(count == seconds);
  }
}

TEST_CASE("metric series: a time range within one bucket") {
  const MetricBuckets buckets(100, 220, 2);
  struct {
    std::int64_t from, to;
    bool whole;
  } const cases[] = {{100, 160, true},  {99, 160, false},  {100, 161, false}, {159, 160, true},
                     {160, 220, true},  {159, 161, false}, {160, 221, false}, {219, 220, true},
                     {220, 221, false}, {0, 60, false}};
  for (const auto& c : cases) CHECK_MESSAGE(buckets.hold(c.from, c.to) == c.whole, c.from);
}

TEST_CASE("metric series: samples outside the time range are ignored, and gaps stay gaps") {
  MetricBuckets buckets(100, 200, 10);
  for (const std::int64_t second : {0, 99, 100, 105, 199, 200, 300})
    buckets.add({second, 3, 1, 2, 2});
  CHECK(buckets.buckets()[0] == store::MetricSecond{100, 6, 1, 2, 4});
  CHECK(buckets.buckets()[9] == store::MetricSecond{190, 3, 1, 2, 2});
  for (std::size_t i = 1; i < 9; ++i) CHECK(buckets.buckets()[i].count == 0);
}

TEST_CASE("metric series: a chart by step consists of whole ranges of the store's") {
  constexpr std::int64_t all = (std::int64_t{1} << 53) + 1;
  struct {
    std::int64_t from, to, most;
    StepChart want;
  } const cases[] = {
      {0, 1, 1, {0, 1, 1, 1}},
      {7, 17, 10, {7, 17, 10, 1}},
      {7, 17, 5, {6, 18, 6, 1}},
      {100, 12'700, 100, {0, 12'726, 101, 1}},
      {130, 30'130, 100, {0, 30'400, 95, 64}},
      {1000, 31'000, 100, {960, 31'040, 94, 64}},
      {0, 10'000'000, 2000, {0, 10'000'768, 1978, 64}},
      {0, 1'000'000'000, 1000, {0, 1'000'509'440, 997, 4096}},
      {all - 1, all, 1, {all - 1, all, 1, 1}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.from);
    CAPTURE(c.to);
    CHECK(step_chart(c.from, c.to, c.most) == c.want);
  }
  for (const std::int64_t most : {1, 7, 600, 2000})
    for (std::int64_t to = 1; to <= all; to = to * 5 + 3)
      for (const std::int64_t from : {std::int64_t{0}, to / 2, to - 1}) {
        const StepChart chart = step_chart(from, to, most);
        const std::int64_t bucket = (chart.to - chart.from) / chart.buckets;
        const bool is_good = chart.from <= from && chart.to >= to && from - chart.from < bucket &&
                             chart.to - to < bucket && chart.buckets <= most + 1 &&
                             bucket % chart.width == 0 && chart.from % bucket == 0;
        CHECK_MESSAGE(is_good, from, " ", to, " ", most);
        CHECK((bucket <= 256 * chart.width || chart.width == store::step_widths.back()));
        CHECK(MetricBuckets(chart.from, chart.to, chart.buckets).width() == bucket);
      }
}

TEST_CASE("metric series: cells of CSV are texts, never formulas") {
  struct {
    const char* text;
    const char* want;
  } const cases[] = {{"loss", "\"loss\""},
                     {"", "\"\""},
                     {"a,b", "\"a,b\""},
                     {"a\"b", "\"a\"\"b\""},
                     {"a\r\nb", "\"a\r\nb\""},
                     {"=1+1", "\"'=1+1\""},
                     {"+1", "\"'+1\""},
                     {"-1", "\"'-1\""},
                     {"@SUM(A1)", "\"'@SUM(A1)\""},
                     {"\t=1", "\"'\t=1\""},
                     {"a=1", "\"a=1\""}};
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(csv_text(c.text) == c.want);
  }
  CHECK(csv_line("j", "=x", {7, -3, -2, -1, 2}) == "\"j\",\"'=x\",7,-1.5,-2,-1,2\r\n");
}

}  // namespace
}  // namespace muster::cloudwatch
