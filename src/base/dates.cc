#include "base/dates.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
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

/// Sets `to`; false if the text is not a number.
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

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

/// A point in time as ISO 8601 has it.
struct IsoTime {
  std::chrono::seconds second{};  ///< Since 1970.
  std::chrono::nanoseconds fraction{};
};

/// "2006-01-02".
bool take_date(std::string_view& text, Parts& parts) {
  const std::optional<int> year = take_digits(text, 4);
  if (!year || !take_char(text, '-')) return false;
  const std::optional<int> month = take_digits(text, 2);
  if (!month || !take_char(text, '-')) return false;
  const std::optional<int> day = take_digits(text, 2);
  if (!day) return false;
  parts.year = *year;
  parts.month = static_cast<unsigned>(*month);
  parts.day = static_cast<unsigned>(*day);
  return true;
}

/// ".5": at most nine digits.
std::optional<std::chrono::nanoseconds> take_fraction(std::string_view& text) {
  if (!take_char(text, '.')) return std::chrono::nanoseconds(0);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 9) return std::nullopt;
  std::int64_t value = *take_digits(text, digits);
  for (std::size_t i = digits; i < 9; ++i) value *= 10;
  return std::chrono::nanoseconds(value);
}

/// "13:21:18".
bool take_clock(std::string_view& text, Parts& parts) {
  const std::optional<int> hours = take_digits(text, 2);
  if (!hours || !take_char(text, ':')) return false;
  const std::optional<int> minutes = take_digits(text, 2);
  if (!minutes || !take_char(text, ':')) return false;
  const std::optional<int> seconds = take_digits(text, 2);
  if (!seconds) return false;
  parts.hour = *hours;
  parts.minute = *minutes;
  parts.second = *seconds;
  return true;
}

/// "Z", "+01:00", "-0800" or nothing: seconds east of UTC.
std::optional<std::chrono::seconds> take_offset(std::string_view& text) {
  if (text.empty() || take_char(text, 'Z') || take_char(text, 'z')) return std::chrono::seconds(0);
  const bool west = text.starts_with('-');
  if (!west && !text.starts_with('+')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> hours = take_digits(text, 2);
  take_char(text, ':');
  const std::optional<int> minutes = take_digits(text, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return (west ? -1 : 1) * (std::chrono::hours(*hours) + std::chrono::minutes(*minutes));
}

/// A date without a time of day means midnight.
std::optional<IsoTime> iso_time_in(std::string_view text) {
  Parts parts;
  IsoTime read;
  if (!take_date(text, parts)) return std::nullopt;
  std::optional<std::chrono::seconds> offset = std::chrono::seconds(0);
  if (!text.empty()) {
    if (!take_char(text, 'T') && !take_char(text, 't') && !take_char(text, ' '))
      return std::nullopt;
    if (!take_clock(text, parts)) return std::nullopt;
    const std::optional<std::chrono::nanoseconds> fraction = take_fraction(text);
    offset = take_offset(text);
    if (!fraction || !offset || !text.empty()) return std::nullopt;
    read.fraction = *fraction;
  }
  const std::optional<UnixMillis> time = time_of(parts);
  if (!time) return std::nullopt;
  read.second = std::chrono::floor<std::chrono::seconds>(*time) - *offset;
  return read;
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

std::string utc_text(UnixMillis time, char separator) {
  const Parts at = parts_of(time);
  return printed<64>("%04d-%02u-%02u%c%02d:%02d:%02d", at.year, at.month, at.day, separator,
                     at.hour, at.minute, at.second);
}

std::string iso_date(UnixMillis time) {
  return utc_text(time, 'T') + printed<8>(".%03dZ", parts_of(time).millis);
}

std::optional<UnixMillis> parse_iso_date(std::string_view text) {
  constexpr std::size_t shortest = std::string_view("2006-01-02T15:04:05Z").size();
  if (text.size() < shortest || text[10] != 'T' || !text.ends_with('Z')) return std::nullopt;
  const std::optional<IsoTime> read = iso_time_in(text);
  if (!read) return std::nullopt;
  return read->second + std::chrono::floor<UnixMillis>(read->fraction);
}

std::optional<double> parse_iso8601(std::string_view text) {
  const std::optional<IsoTime> read = iso_time_in(text);
  if (!read) return std::nullopt;
  return static_cast<double>(read->second.count()) +
         static_cast<double>(read->fraction.count()) / 1e9;
}

std::string iso8601(double epoch_seconds) {
  const double first = -62167219200;  // 0000-01-01
  const double last = 253402300799;   // 9999-12-31T23:59:59
  const double within = epoch_seconds >= first ? std::min(epoch_seconds, last) : first;
  const UnixMillis time(std::llround(within * 1000));
  const bool whole = parts_of(time).millis == 0;
  return whole ? utc_text(time, 'T') + 'Z' : iso_date(time);
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
