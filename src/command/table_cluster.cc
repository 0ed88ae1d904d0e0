#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view source_note =
    "muster gets all data from Slurm, by running squeue and sinfo from PATH. Slurm's own reason "
    "for a state is in brackets. Run this command on a machine where you can submit jobs, e.g. a "
    "login node.";

std::vector<Exit> exits_of_slurm() {
  return {{"0", "success"},
          {"2", "invalid flag"},
          {"3", "Slurm's commands are missing or do not respond"},
          {"128 + N", "signal N ended the command"}};
}

Page queue() {
  return {
      .name = "queue",
      .group = Group::cluster,
      .brief = "list the jobs in a Slurm cluster, and why they are waiting",
      .about =
          "Lists the jobs in a Slurm cluster that are pending, running or ending. For a pending "
          "job, it shows why the job is waiting and when it may start; for a running job, its "
          "nodes.",
      .flags = {{"--user", "NAME", "list only this user's jobs"},
                {"--over", "", "also list finished jobs that Slurm still remembers"},
                {"--utc", "", "print times in UTC instead of local time"},
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
      .brief = "list the nodes in a Slurm cluster and their state",
      .about =
          "Lists the nodes in a Slurm cluster: their resources, their state, and the reason why a "
          "node does not accept jobs.",
      .flags = {{"--utc", "", "print times in UTC instead of local time"},
                {"--json", "", "print one JSON object"}},
      .examples = {{"sm nodes"}},
      .notes = {source_note,
                "PREFLIGHT shows the node's last result from sm preflight, or from a job with "
                "--preflight. If a job of sm fit failed later because of a GPU error on the node, "
                "PREFLIGHT shows that error instead. muster finds only results that it stored in "
                "this state folder (env MUSTER_STATE)."},
      .exits = exits_of_slurm(),
  };
}

}  // namespace

std::vector<Page> pages_cluster() {
  return {queue(), nodes()};
}

}  // namespace muster::command
