#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view source_note =
    "What is shown is Slurm's word, as squeue and sinfo of the PATH tell it; Slurm's own reason "
    "stands in brackets. For where jobs are submitted: a login node.";

std::vector<Exit> exits_of_slurm() {
  return {{"0", "told"},
          {"2", "what was given is wrong: a flag"},
          {"3", "Slurm's commands are not there, or do not answer"},
          {"128 + N", "the command was ended by signal N"}};
}

Page queue() {
  return {
      .name = "queue",
      .group = Group::cluster,
      .brief = "tell which jobs of a Slurm cluster wait and run, and why",
      .about =
          "Tells which jobs of a Slurm cluster wait, run or end, in plain words: why a job waits "
          "and when it may start, or which nodes it has.",
      .flags = {{"--user", "NAME", "only this user's jobs"},
                {"--over", "", "also jobs that are over, as long as Slurm knows of them"},
                {"--json", "", "print one JSON object"}},
      .examples = {{"sm queue"}, {"sm queue --user ann --over"}},
      .notes = {source_note},
      .exits = exits_of_slurm(),
  };
}

Page nodes() {
  return {
      .name = "nodes",
      .group = Group::cluster,
      .brief = "tell what the nodes of a Slurm cluster have and do",
      .about =
          "Tells of each node of a Slurm cluster what it has and does, and why one takes no jobs.",
      .flags = {{"--json", "", "print one JSON object"}},
      .examples = {{"sm nodes"}},
      .notes = {source_note,
                "PREFLIGHT is what the last sm preflight, or a job with --preflight, found of a "
                "node, if it was led with this state folder (MUSTER_STATE)."},
      .exits = exits_of_slurm(),
  };
}

}  // namespace

std::vector<Page> pages_cluster() {
  return {queue(), nodes()};
}

}  // namespace muster::command
