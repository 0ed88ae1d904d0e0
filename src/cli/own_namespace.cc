#include "cli/own_namespace.h"

#include <unistd.h>

#include "base/terminal.h"
#include "base/text.h"
#include "base/topic.h"
#include "cli/exit_code_of.h"
#include "platform/places/rootless_user.h"

namespace muster::cli {

std::optional<int> enter_own_namespace(const std::string& command, Env& env, bool told) {
  const Result<std::optional<places::Rootless>> entered = places::enter_rootless(env);
  if (!entered) {
    static_cast<void>(say_line(STDERR_FILENO, command, with_topic(entered.error().text)));
    return exit_platform;
  }
  if (!told || !*entered) return std::nullopt;
  const std::string line = "without root: " + join(places::lacks(**entered), "; ");
  static_cast<void>(say_line(STDERR_FILENO, command, line));
  return std::nullopt;
}

}  // namespace muster::cli
