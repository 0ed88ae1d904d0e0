#include "api/times.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace muster::api {

namespace {

/// Takes exactly `digits` digits off the front of `text`; none if they are not there.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// "13:21:18.5": seconds of the day.
std::optional<double> take_clock(std::string_view& text) {
  const std::optional<int> hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take(text, ':')) return std::nullopt;
  const std::optional<int> minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59 || !take(text, ':')) return std::nullopt;
  const std::optional<int> seconds = take_digits(text, 2);
  if (!seconds || *seconds > 60) return std::nullopt;
  double fraction = 0;
  if (take(text, '.')) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 9) return std::nullopt;
    fraction = *take_digits(text, digits) / std::pow(10, digits);
  }
  return *hours * 3600 + *minutes * 60 + *seconds + fraction;
}

/// "Z", "+01:00", "-0800" or nothing: seconds east of UTC.
std::optional<int> take_offset(std::string_view& text) {
  if (text.empty() || take(text, 'Z') || take(text, 'z')) return 0;
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> hours = take_digits(text, 2);
  take(text, ':');
  const std::optional<int> minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<double> parse_iso8601(std::string_view text) {
  const std::optional<int> year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const std::optional<int> month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const std::optional<int> day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  if (text.empty()) return days * 86400;
  if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return std::nullopt;
  const std::optional<double> clock = take_clock(text);
  if (!clock) return std::nullopt;
  const std::optional<int> offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  return days * 86400 + *clock - *offset;
}

std::string iso8601(double epoch_seconds) {
  const double first = -62167219200;  // 0000-01-01
  const double last = 253402300799;   // 9999-12-31T23:59:59
  const double within = epoch_seconds >= first ? std::min(epoch_seconds, last) : first;
  const std::int64_t millis = std::llround(within * 1000);
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(millis)};
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss<std::chrono::milliseconds> clock(time - days);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  std::string whole = text;
  if (const int fraction = static_cast<int>(clock.subseconds().count()); fraction != 0) {
    std::snprintf(text, sizeof text, ".%03d", fraction);
    whole += text;
  }
  return whole + 'Z';
}

}  // namespace muster::api
