#include "command/aliases.h"

#include <doctest/doctest.h>

#include "command/completion.h"
#include "command/help.h"
#include "command/page.h"

namespace muster::command {
namespace {

TEST_CASE("aliases: the words of other programs mean commands of ours") {
  struct {
    const char* word;
    Args args;
    const char* want;
  } const cases[] = {
      {"ps", {}, "jobs"},
      {"list", {"--json"}, "jobs"},
      {"cancel", {"a", "--wait"}, "stop"},
      {"rm", {"a"}, "delete"},
      {"status", {}, "jobs"},
      {"status", {"--json"}, "jobs"},
      {"status", {"--limit", "5"}, "jobs"},
      {"status", {"a"}, "describe"},
      {"status", {"--json", "a"}, "describe"},
      {"status", {"--utc", "--json", "a"}, "describe"},
      {"status", {"--utc"}, "jobs"},
      {"fit", {"status"}, "fit"},
      {"", {}, ""},
      {"pss", {}, "pss"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.word);
    CHECK(meant_command(one.word, one.args) == one.want);
  }
}

TEST_CASE("aliases: they are in no help and no completion") {
  for (const char* word : {"ps", "list", "status", "cancel", "rm"}) {
    CAPTURE(word);
    CHECK(find_page(word) == nullptr);
    CHECK(find_page(meant_command(word, {})) != nullptr);
    CHECK(overview().find("\n  " + std::string(word) + " ") == std::string::npos);
  }
}

}  // namespace
}  // namespace muster::command
