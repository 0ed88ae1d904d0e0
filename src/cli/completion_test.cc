#include "cli/completion.h"

#include <doctest/doctest.h>

#include "cli/apps.h"

namespace muster::cli {
namespace {

TEST_CASE("completion: every shell's script knows every command and flag") {
  const CommandTree tree;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    CAPTURE(shell);
    const Result<std::string> script = completion_script(shell, tree.root);
    REQUIRE(script);
    for (const char* word :
         {"fit",        "clean",      "doctor", "completion", "env",    "hosts",  "hyperparameter",
          "source-dir", "print-plan", "all",    "help",       "submit", "jobs",   "describe",
          "logs",       "stop",       "follow", "json-file",  "server", "listen", "key"}) {
      CAPTURE(word);
      CHECK(script->find(word) != std::string::npos);
    }
  }
  CHECK(completion_script("tcsh", tree.root).error().code == Errc::invalid_input);
}

}  // namespace
}  // namespace muster::cli
