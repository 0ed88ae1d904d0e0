#include "server/cloudwatch/metric_series.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/result.h"

namespace muster::cloudwatch {
MetricBuckets::MetricBuckets(std::int64_t from, std::int64_t to, std::int64_t most)
    : from_(from), to_(to), width_(1) {
  CHECK_THAT(from < to && most > 0, "a metric in buckets of no time");
  width_ = (to - from + most - 1) / most;
  buckets_.resize(static_cast<std::size_t>((to - from + width_ - 1) / width_));
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    buckets_[i].second = from + static_cast<std::int64_t>(i) * width_;
}

void MetricBuckets::add(const store::MetricSecond& second) {
  if (second.second < from_ || second.second >= to_) return;
  buckets_[static_cast<std::size_t>((second.second - from_) / width_)].add(second);
}

bool MetricBuckets::hold(std::int64_t from, std::int64_t to) const {
  return from >= from_ && to <= to_ && (from - from_) / width_ == (to - 1 - from_) / width_;
}

StepChart step_chart(std::int64_t from, std::int64_t to, std::int64_t most) {
  CHECK_THAT(from < to && most > 0, "a metric in buckets of no steps");
  const auto parts = [](std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
  };
  const std::int64_t wanted = parts(to - from, most);
  StepChart chart;
  for (const std::int64_t width : store::step_widths)
    if (width * 4 <= wanted) chart.width = width;
  const std::int64_t bucket = parts(wanted, chart.width) * chart.width;
  chart.from = from - from % bucket;
  chart.buckets = parts(to - chart.from, bucket);
  chart.to = chart.from + chart.buckets * bucket;
  return chart;
}

std::string number_text(double value) {
  std::array<char, 32> text;
  const auto [end, trouble] = std::to_chars(text.data(), text.data() + text.size(), value);
  return trouble == std::errc() ? std::string(text.data(), end) : std::string();
}

std::string csv_text(std::string_view text) {
  constexpr std::string_view formula = "=+-@\t\r";
  std::string cell = "\"";
  if (!text.empty() && formula.find(text.front()) != std::string_view::npos) cell += '\'';
  for (const char c : text) {
    if (c == '"') cell += '"';
    cell += c;
  }
  return cell + "\"";
}

std::string csv_head(bool by_step) {
  return std::string("job,metric,") + (by_step ? "step" : "second") +
         ",mean,minimum,maximum,count\r\n";
}

std::string csv_line(std::string_view job, std::string_view metric,
                     const store::MetricSecond& second) {
  const double mean = second.sum / static_cast<double>(std::max<std::int64_t>(second.count, 1));
  return csv_text(job) + "," + csv_text(metric) + "," + std::to_string(second.second) + "," +
         number_text(mean) + "," + number_text(second.least) + "," + number_text(second.most) +
         "," + std::to_string(second.count) + "\r\n";
}

}  // namespace muster::cloudwatch
