#pragma once

#include <string>
#include <string_view>

namespace muster {

/// Writes a program's own lines, one write each, to a descriptor. Values of environment variables
/// and arguments are never logged above `debug`: they may be secrets.
class Log {
 public:
  enum class Level { error, warning, info, debug };

  /// Every line starts with `name`: "train[algo-1]: ...". With `times`, it starts with the time,
  /// for programs that run for weeks: "2026-01-31T12:00:00.000Z sm server: ...".
  Log(int fd, std::string name, Level level, bool times = false)
      : fd_(fd), name_(std::move(name)), level_(level), times_(times) {}

  void error(std::string_view text) const { line(Level::error, text); }
  void warning(std::string_view text) const { line(Level::warning, text); }
  void info(std::string_view text) const { line(Level::info, text); }
  void debug(std::string_view text) const { line(Level::debug, text); }
  Level level() const { return level_; }

 private:
  void line(Level level, std::string_view text) const;

  int fd_;
  std::string name_;
  Level level_;
  bool times_;
};

}  // namespace muster
