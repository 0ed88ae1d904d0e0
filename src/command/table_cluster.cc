#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view source_note =
    "All data comes from Slurm, through squeue and sinfo on PATH; Slurm's own reason is in "
    "brackets. Run this command where jobs are submitted: on a login node.";

std::vector<Exit> exits_of_slurm() {
  return {{"0", "success"},
          {"2", "invalid flag"},
          {"3", "Slurm's commands are missing or do not respond"},
          {"128 + N", "the command was ended by signal N"}};
}

Page queue() {
  return {
      .name = "queue",
      .group = Group::cluster,
      .brief = "list the jobs of a Slurm cluster and why they wait",
      .about =
          "Lists the waiting, running and ending jobs of a Slurm cluster in plain words: why a job "
          "waits and when it may start, or which nodes it runs on.",
      .flags = {{"--user", "NAME", "only this user's jobs"},
                {"--over", "", "include finished jobs that Slurm still remembers"},
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
      .brief = "list the nodes of a Slurm cluster and their state",
      .about =
          "Lists the nodes of a Slurm cluster: their resources, what they are doing, and why a "
          "node accepts no jobs.",
      .flags = {{"--json", "", "print one JSON object"}},
      .examples = {{"sm nodes"}},
      .notes = {source_note,
                "PREFLIGHT shows the node's last result of sm preflight, or of a job with "
                "--preflight, if the leading host used this state folder (MUSTER_STATE)."},
      .exits = exits_of_slurm(),
  };
}

}  // namespace

std::vector<Page> pages_cluster() {
  return {queue(), nodes()};
}

}  // namespace muster::command
