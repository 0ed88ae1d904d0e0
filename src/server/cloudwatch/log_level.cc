#include "server/cloudwatch/log_level.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace muster::cloudwatch {
namespace {

constexpr std::size_t head_bytes = 200;     ///< Searched for a logger's word.
constexpr std::size_t looked_bytes = 2000;  ///< Other words do.

using Named = std::pair<const char*, Level>;

constexpr std::array<Named, 5> names = {{{"", Level::any},
                                         {"debug", Level::debug},
                                         {"info", Level::info},
                                         {"warning", Level::warning},
                                         {"error", Level::error}}};

constexpr std::array<Named, 13> logger_words = {{
    {"TRACE", Level::debug},
    {"DEBUG", Level::debug},
    {"INFO", Level::info},
    {"NOTICE", Level::info},
    {"WARN", Level::warning},
    {"WARNING", Level::warning},
    {"ERROR", Level::error},
    {"CRITICAL", Level::error},
    {"FATAL", Level::error},
    {"I", Level::info},
    {"W", Level::warning},
    {"E", Level::error},
    {"F", Level::error},
}};

/// glog begins a line with I1231, TensorFlow puts the letter behind a time with its microseconds.
const re2::RE2& logger_word() {
  static const re2::RE2 pattern(
      R"(\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|)"
      R"(^([IWEF])\d{4} \d\d:|^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: ([IWEF]) )");
  return pattern;
}

const re2::RE2& error_word() {
  static const re2::RE2 pattern(
      R"((?i:\b(?:error|exception|traceback|fatal|panic|segmentation fault|killed))\b|)"
      R"([A-Za-z](?:Error|Exception)\b)");
  return pattern;
}

const re2::RE2& figure_behind() {
  static const re2::RE2 pattern(R"(^\s*[:=]\s*[-+]?\.?[0-9])");
  return pattern;
}

const re2::RE2& warning_word() {
  static const re2::RE2 pattern(R"((?i:\b(?:warning|warn|deprecated))\b|[a-z]Warning\b)");
  return pattern;
}

bool tells_of_error(re2::StringPiece text) {
  while (re2::RE2::FindAndConsume(&text, error_word()))
    if (!re2::RE2::PartialMatch(text, figure_behind())) return true;
  return false;
}

Level level_of_plain(std::string_view line) {
  std::array<re2::StringPiece, 3> words;
  const re2::StringPiece head(line.data(), std::min(line.size(), head_bytes));
  if (re2::RE2::PartialMatch(head, logger_word(), &words[0], &words[1], &words[2]))
    for (const auto& [name, level] : logger_words)
      for (const re2::StringPiece word : words)
        if (word == name) return level;
  const re2::StringPiece looked(line.data(), std::min(line.size(), looked_bytes));
  if (tells_of_error(looked)) return Level::error;
  return re2::RE2::PartialMatch(looked, warning_word()) ? Level::warning : Level::any;
}

}  // namespace

bool has_colours(std::string_view line) {
  return line.find('\x1b') != std::string_view::npos;
}

std::string uncoloured(std::string_view line) {
  static const re2::RE2 colour(R"(\x1b\[[0-9;:]*m)");
  std::string text(line);
  re2::RE2::GlobalReplace(&text, colour, "");
  return text;
}

Level level_of(std::string_view line) {
  // Behind an "m", \b finds no word.
  return has_colours(line) ? level_of_plain(uncoloured(line.substr(0, 2 * looked_bytes)))
                           : level_of_plain(line);
}

std::string_view level_name(Level level) {
  return names[static_cast<std::size_t>(level)].first;
}

std::optional<Level> level_named(std::string_view name) {
  for (const auto& [each, level] : names)
    if (each == name) return level;
  return std::nullopt;
}

}  // namespace muster::cloudwatch
