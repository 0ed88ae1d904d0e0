#include "command/page.h"

namespace muster::command {

std::vector<Page> pages_internal() {
  return {
      {.name = "steward",
       .group = Group::internal,
       .brief = "run one host of a job",
       .about = "Runs one host of a job, uploads results, or removes leftovers on the machine.",
       .flags =
           {{"--spec", "FILE", "run the host with this specification"},
            {"--lifeline", "FD", "file descriptor that closes when the parent process exits"},
            {"--gate", "FD", "file descriptor that receives the start signal"},
            {"--upload", "DIR", "upload the job's results from this folder"},
            {"--completed", "", "also upload the model, because the job completed"},
            {"--clear", "DIR",
             "remove the leftovers of the job in this folder, after the job's hosts have exited"},
            {"--sweep", "", "clean up after jobs that were killed"},
            {"--json", "", "with --clear or --sweep: print one JSON object"},
            {"--all", "", "with --sweep: also remove folders kept by sm fit --keep"}},
       .exits = {{"0", "success"}, {"1", "failure"}, {"2", "usage error"}},
       .last_wins = true,
       .usage = {"--spec FILE [--lifeline FD] [--gate FD]", "--upload DIR [--completed]",
                 "--clear DIR [--json]", "--sweep [--json] [--all]"}},
      {.name = "node",
       .group = Group::internal,
       .brief = "run one host of a job on a cluster's node",
       .about = "Runs one host of a job on a cluster's node, and maintains the host's connection "
                "to the engine.",
       .flags = {{"--job", "FILE",
                  "the node's instructions; the file is deleted after it has been read"},
                 {"--steward", "PROGRAM", "program to run instead of sm steward"}},
       .exits = {{"0", "the host has exited, whether the job succeeded or failed"},
                 {"1", "the instructions in FILE could not be read"},
                 {"2", "usage error"}},
       .last_wins = true,
       .usage = {"--job FILE"}},
      {.name = "sampler",
       .group = Group::internal,
       .brief = "print the stacks of a host's processes",
       .about = "Prints the stacks of all descendants of a host's first process, as JSON.",
       .flags = {{"--init", "PID",
                  "PID of the host's first process, in the machine's PID namespace"},
                 {"--native", "", "also show the C and C++ frames below Python frames"},
                 {"--moves", "",
                  "sample running processes again to see whether they make progress"},
                 {.name = "--py-spy",
                  .value = "FILE",
                  .help = "path of py-spy; if several are passed, the first executable one is used",
                  .many = true}},
       .exits = {{"0", "success"}, {"1", "the host is unreachable"}, {"2", "usage error"}},
       .last_wins = true,
       .usage = {"--init PID [--native | --moves] [--py-spy FILE ...]"}},
      {.name = "init",
       .group = Group::internal,
       .brief = "run as the first process of a host",
       .about = "Runs as the first process of a host: starts a program, reaps all processes, and "
                "exits with the program's code.",
       .rest = Rest::behind_dashes,
       .rest_name = "PROGRAM [ARGS]",
       .flags =
           {{"--lifeline", "FD", "file descriptor that closes when the parent process exits"},
            {"--variables", "FILE",
             "environment variables for the program; they override the variables of this process"},
            {"--cpus", "LIST", "run on these CPUs, e.g. 0-15"},
            {"--memory-nodes", "LIST", "prefer memory of these NUMA nodes, e.g. 0"},
            {"--everyone", "",
             "send signals to all processes of the host, and wait for all of them when the job is "
             "stopped"}},
       .exits = {{"N", "the program's exit code"}, {"2", "usage error"}},
       .last_wins = true},
  };
}

}  // namespace muster::command
