#include "base/dates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

namespace muster {
namespace {

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

struct Parts {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned weekday = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millis = 0;
};

Parts parts_of(UnixMillis time) {
  const std::chrono::sys_time<UnixMillis> at{time};
  const auto midnight = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{midnight};
  const std::chrono::hh_mm_ss clock{at - midnight};
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          std::chrono::weekday{midnight}.c_encoding(),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(clock.subseconds().count())};
}

std::optional<UnixMillis> time_of(const Parts& parts) {
  const std::chrono::year_month_day date{
      std::chrono::year{parts.year}, std::chrono::month{parts.month}, std::chrono::day{parts.day}};
  const bool clock_fits = parts.hour <= 23 && parts.minute <= 59 && parts.second <= 60;
  if (!date.ok() || !clock_fits) return std::nullopt;
  const auto midnight = std::chrono::sys_days{date}.time_since_epoch();
  return UnixMillis{midnight} + std::chrono::hours{parts.hour} +
         std::chrono::minutes{parts.minute} + std::chrono::seconds{parts.second} +
         UnixMillis{parts.millis};
}

/// At most four digits and nothing else; -1 for any other text.
int number(std::string_view text) {
  if (text.empty() || text.size() > 4) return -1;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Sets `to`; false if the text is no number.
bool set(int& to, std::string_view text) {
  to = number(text);
  return to >= 0;
}
bool set(unsigned& to, std::string_view text) {
  const int value = number(text);
  to = value < 0 ? 0 : static_cast<unsigned>(value);
  return value >= 0;
}

unsigned month_named(std::string_view name) {
  const auto* at = std::find(months.begin(), months.end(), name);
  return at == months.end() ? 0 : static_cast<unsigned>(at - months.begin()) + 1;
}

/// Words between any of " ,-:".
std::vector<std::string_view> words_of(std::string_view text) {
  constexpr std::string_view between = " ,-:";
  std::vector<std::string_view> words;
  while (words.size() < 10) {
    const std::size_t begin = text.find_first_not_of(between);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(between), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

bool set_clock(Parts& parts, std::string_view hour, std::string_view minute,
               std::string_view second) {
  return set(parts.hour, hour) && set(parts.minute, minute) && set(parts.second, second);
}

template <std::size_t size, class... Values>
std::string printed(const char* format, Values... values) {
  std::array<char, size> text{};
  const int length = std::snprintf(text.data(), text.size(), format, values...);
  return {text.data(), std::min(static_cast<std::size_t>(std::max(length, 0)), size - 1)};
}

}  // namespace

std::string http_date(UnixMillis time) {
  const Parts at = parts_of(time);
  return printed<64>("%s, %02u %s %04d %02d:%02d:%02d GMT", days[at.weekday].data(), at.day,
                     months[at.month - 1].data(), at.year, at.hour, at.minute, at.second);
}

std::optional<UnixMillis> parse_http_date(std::string_view text) {
  const std::vector<std::string_view> words = words_of(text);
  Parts parts;
  const bool of_asctime = words.size() == 7;  // "Sun Nov  6 08:49:37 1994"
  if (!of_asctime && words.size() != 8) return std::nullopt;
  parts.month = month_named(words[of_asctime ? 1 : 2]);
  const std::string_view year = words[of_asctime ? 6 : 3];
  const std::size_t clock = of_asctime ? 3 : 4;
  const bool fits = set(parts.day, words[of_asctime ? 2 : 1]) && set(parts.year, year) &&
                    set_clock(parts, words[clock], words[clock + 1], words[clock + 2]);
  if (!fits) return std::nullopt;
  if (!of_asctime && words[7] != "GMT" && words[7] != "UTC" && words[7] != "+0000")
    return std::nullopt;
  if (year.size() == 2) parts.year += parts.year < 70 ? 2000 : 1900;
  return time_of(parts);
}

std::string iso_date(UnixMillis time) {
  const Parts at = parts_of(time);
  return printed<64>("%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", at.year, at.month, at.day, at.hour,
                     at.minute, at.second, at.millis);
}

std::optional<UnixMillis> parse_iso_date(std::string_view text) {
  if (text.size() < 20 || text.size() > 30 || !text.ends_with('Z')) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  Parts parts;
  const bool fits = set(parts.year, text.substr(0, 4)) && set(parts.month, text.substr(5, 2)) &&
                    set(parts.day, text.substr(8, 2)) &&
                    set_clock(parts, text.substr(11, 2), text.substr(14, 2), text.substr(17, 2));
  if (!fits) return std::nullopt;
  std::string_view fraction = text.substr(19, text.size() - 20);
  if (!fraction.empty()) {
    if (fraction[0] != '.' || fraction.size() < 2) return std::nullopt;
    std::string digits(fraction.substr(1, 3));
    digits.resize(3, '0');
    if (!set(parts.millis, digits)) return std::nullopt;
  }
  return time_of(parts);
}

std::string amz_date(UnixMillis time) {
  const Parts at = parts_of(time);
  return printed<64>("%04d%02u%02uT%02d%02d%02dZ", at.year, at.month, at.day, at.hour, at.minute,
                     at.second);
}

std::optional<UnixMillis> parse_amz_date(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  Parts parts;
  const bool fits = set(parts.year, text.substr(0, 4)) && set(parts.month, text.substr(4, 2)) &&
                    set(parts.day, text.substr(6, 2)) &&
                    set_clock(parts, text.substr(9, 2), text.substr(11, 2), text.substr(13, 2));
  if (!fits) return std::nullopt;
  return time_of(parts);
}

}  // namespace muster
