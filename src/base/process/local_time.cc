#include "base/process/local_time.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/dates.h"

namespace muster {
namespace {

std::tm parts_of(UnixMillis time) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(time).count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return parts;
}

std::string printed(const char* format, const std::tm& parts) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &parts)};
}

/// The time at which clocks here show what clocks in UTC show at `time`.
std::optional<UnixMillis> shown_at(double time) {
  const double whole = std::floor(time);
  const std::time_t seconds = static_cast<std::time_t>(whole);
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return std::nullopt;
  parts.tm_isdst = -1;
  return std::chrono::seconds(std::mktime(&parts)) + UnixMillis(std::llround((time - whole) * 1e3));
}

}  // namespace

std::string local_text(UnixMillis time) {
  return printed("%F %T", parts_of(time));
}

std::string offset_text(UnixMillis time) {
  std::string text = printed("%z", parts_of(time));  // "+0100"
  return text.size() == 5 ? text.insert(3, ":") : text;
}

std::string zoned_text(UnixMillis time) {
  return local_text(time) + " " + offset_text(time);
}

std::string zoned_minute(UnixMillis time) {
  return local_text(time).substr(0, 16) + " " + offset_text(time);
}

std::optional<UnixMillis> parse_local(std::string_view text) {
  // What is a time with another Z had none, and no offset.
  for (const char* rest : {"Z", "T00:00:00Z"})
    if (const std::optional<double> time = parse_iso8601(std::string(text) + rest))
      return shown_at(*time);
  const std::optional<double> time = parse_iso8601(text);
  if (!time) return std::nullopt;
  return UnixMillis(std::llround(*time * 1000));
}

void use_utc() {
  ::setenv("TZ", "UTC0", 1);
  ::tzset();
}

}  // namespace muster
