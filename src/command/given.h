#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "command/page.h"

namespace muster::command {

/// A command line as the values of its flags, so that two can be combined: that of a job file or of
/// an earlier job, and the one that is typed. Nothing is checked here: Line::parse() refuses what
/// its page does not know. Pure.
struct Given {
  struct Value {
    const Flag* flag;  ///< A flag of the page, or help_flag().
    std::string text;  ///< A switch has "true" or "false".
  };
  std::vector<Value> values{};  ///< In the order in which they were given.
  Args words{};                 ///< The operands, and flags that the page does not know.
  std::optional<Args> rest{};   ///< Behind "--", if the page has Rest::behind_dashes.
};

Given given_in(const Page& page, const Args& args);
/// A command line with these values: given_in() of it is the same.
Args args_of(const Given& given);

/// `above` replaces values of `below`: of a flag that takes NAME=VALUE those with the same NAME, of
/// any other flag all; and what is behind "--". Operands of both are kept.
Given merged(Given below, const Given& above);

/// The values with paths below `folder` where they are relative. Operands stay as they are.
Given with_paths_from(const std::string& folder, Given given);

/// Whether each value of the flag has a name: "NAME=DIR", "KEY=VALUE".
bool is_map(const Flag& flag);
/// "NAME" of "NAME=VALUE"; the whole text if it has no "=".
std::string_view name_in(std::string_view text);

/// Whether `--hyperparameter NAME=value` sends the value as it is: a JSON number, true, false,
/// null, list or object. Anything else is sent as a JSON string.
bool is_typed(std::string_view value);

}  // namespace muster::command
