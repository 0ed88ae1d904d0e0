#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::operators {

/// An operator's command line: its own flags, then the program and its arguments untouched. The
/// line ends being the operator's at the first word that is no flag, or behind "--".
class OperatorLine {
 public:
  /// `name` as after `sm`; `what`: one sentence; `footer`: what --help ends with.
  OperatorLine(std::string name, std::string what, std::string footer);

  /// A flag with a value: `--name VALUE` or `--name=VALUE`. The first name is the one that help
  /// shows; '_' and '-' are the same in all of them. `into` outlives this.
  void value(Args names, std::string& into, std::string help);
  /// The same for a whole number from `least` on.
  void number(Args names, int& into, int least, std::string help);
  void flag(Args names, bool& into, std::string help);
  /// Flags that are not the operator's may stand before the program: they are the launcher's.
  void pass_flags_on() { passes_flags_on_ = true; }

  /// None: go on. Else the exit status: help was printed, or the line is wrong, which is said.
  std::optional<int> parse(const Args& args);
  /// The program and its arguments; not empty after parse().
  const Args& command() const { return command_; }
  bool print_plan() const { return print_plan_; }
  std::string help() const;

 private:
  struct Flag {
    Args names;
    std::string help;
    std::string* text = nullptr;
    int* number = nullptr;
    int least = 0;
    bool* set = nullptr;
  };
  Result<void> read(const Args& args);
  Result<bool> read_flag(const Args& args, std::size_t& at);
  Result<void> store(const Flag& flag, const std::string& name, const std::string& value);

  std::string name_, what_, footer_;
  std::vector<Flag> flags_;
  bool print_plan_ = false;
  bool wants_help_ = false;
  bool passes_flags_on_ = false;
  Args command_;
};

}  // namespace muster::operators
