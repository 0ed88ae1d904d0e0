#include "command/page.h"

namespace muster::command {
namespace {

constexpr std::string_view source_note =
    "muster gets all data by running Slurm's commands squeue and sinfo, which must be on PATH. The "
    "reason that Slurm gives for a state is shown in brackets. Run this command on a machine where "
    "you can submit jobs, e.g. a login node.";

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
      .brief = "list the jobs in a Slurm cluster, and the reasons why jobs are waiting",
      .about =
          "Lists the jobs in a Slurm cluster that are pending, running or completing. For a "
          "pending job, the list shows why the job is waiting and when it may start. For a running "
          "job, it shows the job's nodes. Below the list are Slurm's commands for muster's jobs, "
          "and the IDs of earlier attempts that Slurm still remembers.",
      .flags = {{"--user", "NAME", "list only this user's jobs"},
                {"--over", "", "also list finished jobs that Slurm still remembers"},
                utc_shown_flag,
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
          "Lists the nodes in a Slurm cluster with their resources and state. If a node does not "
          "accept jobs, the list shows the reason.",
      .flags = {utc_shown_flag, {"--json", "", "print one JSON object"}},
      .examples = {{"sm nodes"}},
      .notes = {source_note,
                "PREFLIGHT shows the result of the last check of the node by sm preflight or by a "
                "job with --preflight. If an sm fit job later failed because of a GPU error on the "
                "node, PREFLIGHT shows that error instead. muster shows only results that are "
                "stored in the current state folder (env MUSTER_STATE)."},
      .exits = exits_of_slurm(),
  };
}

}  // namespace

std::vector<Page> pages_cluster() {
  return {queue(), nodes()};
}

}  // namespace muster::command
