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
      {.name = "node",
       .group = Group::internal,
       .brief = "own one host of a job on a cluster's node",
       .about = "Owns one host of a job on a cluster's node, and its connection to the engine.",
       .flags = {{"--job", "FILE", "what the node was given; removed when it is read"},
                 {"--steward", "PROGRAM", "runs in place of sm steward"}},
       .exits = {{"0", "the host is over, however it ended"},
                 {"1", "FILE could not be taken"},
                 {"2", "what was given is wrong"}},
       .last_wins = true,
       .usage = {"--job FILE"}},
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
