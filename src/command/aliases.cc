#include "command/aliases.h"

#include <algorithm>

namespace muster::command {

std::string meant_command(const std::string& word, const Args& args) {
  if (word == "ps" || word == "list") return "jobs";
  if (word == "cancel") return "stop";
  if (word == "rm") return "delete";
  if (word != "status") return word;
  // All flags of describe but --help are switches of jobs, too.
  const auto first = std::find_if(args.begin(), args.end(), [](const std::string& arg) {
    return arg != "--json" && arg != "--utc";
  });
  return first == args.end() || first->starts_with("-") ? "jobs" : "describe";
}

}  // namespace muster::command
