#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "command/page.h"

namespace muster::command {

/// Why a command line is not run: help was asked for, or the line is wrong.
struct Stop {
  std::string name;  ///< "sm fit"
  int exit_code = 0;
  std::string text;  ///< Help, or one line of what is wrong.
};
/// What is wrong with a value, as a Stop.
Stop wrong_line(const Page& page, const std::string& text);
/// "NAME: TEXT" and where help is, as commands for people say it; help as it is. Pure.
std::string text_of(const Stop& stop);
/// Prints text_of(): help on standard output, else on standard error. The exit code.
int tell(const Stop& stop);
/// Prints one line of a log, for programs that other programs start: the lines of all hosts of a
/// job are in one log.
int tell(const Stop& stop, const Log& log);
/// For a command that is not in `known`: suggests the nearest one. `below`: "key", or empty for
/// `sm` itself. Pure.
Stop no_command(std::string_view below, const std::string& word,
                const std::vector<const Page*>& known);

/// The command of `below` that the first word names; or why none runs: help, or it is unknown.
std::variant<const Page*, Stop> command_below(std::string_view below, const Args& args);

/// One command line. Flags and operands are those of its page: register the destination of each;
/// parse() aborts if one is missing. Values may start with '-'; '_' and '-' are the same in a
/// flag's name.
class Line {
 public:
  explicit Line(const Page& page);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line();

  // `into` outlives the line, and keeps what it holds if the flag is not given.
  void flag(std::string_view name, bool& into);
  void text(std::string_view name, std::string& into);
  /// `into` stays empty if the flag is not given.
  void text(std::string_view name, std::optional<std::string>& into);
  void texts(std::string_view name, std::vector<std::string>& into);
  /// A whole number from `least` to `most`.
  void number(std::string_view name, int& into, int least, int most);
  /// A block that --help shows above the exit codes.
  void more_help(std::string block);

  std::optional<Stop> parse(const Args& args);
  /// The words that Page::rest is about, after parse().
  const Args& rest() const { return rest_; }
  /// The words that were parsed, without the line's own `flags` and their values.
  Args without(const std::vector<Flag>& flags) const;

 private:
  struct App;
  struct Bound;
  Bound& bind(std::string_view name, bool takes_value, bool many);
  Args split(const Args& args);
  Result<Args> prepared(const Args& own) const;
  Result<void> store(const Bound& bound) const;
  Result<void> store_all() const;
  Error unexpected(const Args& words) const;

  const Page& page_;
  std::unique_ptr<App> app_;
  std::string more_help_;
  Args args_;            ///< As parse() got them.
  std::size_t own_ = 0;  ///< How many of them are the line's own.
  Args rest_;
};

}  // namespace muster::command
