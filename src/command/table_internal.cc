#include "command/page.h"

namespace muster::command {

std::vector<Page> pages_internal() {
  return {
      {.name = "steward",
       .group = Group::internal,
       .brief = "own one host of a job",
       .about = "Owns one host of a job of the platform, uploads results, or sweeps the machine.",
       .flags = {{"--spec", "FILE", "the host's specification: run it"},
                 {"--lifeline", "FD", "a descriptor that ends with whoever started this"},
                 {"--gate", "FD", "a descriptor on which the word to begin comes"},
                 {"--upload", "DIR", "upload the results of the job in this folder"},
                 {"--completed", "", "the job completed: its model too"},
                 {"--sweep", "", "remove what dead jobs left"},
                 {"--json", "", "--sweep: one JSON object"},
                 {"--all", "", "--sweep: also what was kept"}},
       .exits = {{"0", "done"}, {"1", "it failed"}, {"2", "what was given is wrong"}},
       .last_wins = true,
       .usage = {"--spec FILE [--lifeline FD] [--gate FD]", "--upload DIR [--completed]",
                 "--sweep [--json] [--all]"}},
      {.name = "init",
       .group = Group::internal,
       .brief = "the first process of a host",
       .about = "The first process of a host: starts a program, reaps all, and ends as it does.",
       .rest = Rest::behind_dashes,
       .rest_name = "PROGRAM [ARGS]",
       .flags = {{"--lifeline", "FD", "a descriptor that ends with whoever started this"},
                 {"--everyone", "", "signals are for all processes, and a stop waits for all"}},
       .exits = {{"N", "the program's exit code"}, {"2", "what was given is wrong"}},
       .last_wins = true},
  };
}

}  // namespace muster::command
