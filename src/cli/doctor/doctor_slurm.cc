// What `sm doctor --engine slurm` makes of a cluster.

#include "cli/doctor/doctor_slurm.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"

namespace muster::cli {
namespace {

using slurm::NodeWord;

/// Less than this between SIGTERM and SIGKILL leaves no time to write a checkpoint.
constexpr std::chrono::seconds kill_wait_min{10};
constexpr std::int64_t free_kib_min = 1 << 20;
constexpr double skew_max_seconds = 1;

std::string value(const SlurmFacts& facts, std::string_view name) {
  const auto found = facts.settings.find(name);
  return found == facts.settings.end() ? std::string() : found->second;
}

bool names(const SlurmFacts& facts, std::string_view name, std::string_view word) {
  return value(facts, name).find(word) != std::string::npos;
}

/// "17.11.2" is new enough.
bool is_known(const std::string& version) {
  const std::vector<std::string> parts = split(version, '.');
  if (parts.size() < 2) return false;
  const std::int64_t major = parse_integer(parts[0]).value_or(0);
  return major > 17 || (major == 17 && parse_integer(parts[1]).value_or(0) >= 11);
}

bool can_run(const slurm::Node& node) {
  const std::string& state = node.state;
  return state.find("down") == std::string::npos && state.find("drain") == std::string::npos &&
         state.find("fail") == std::string::npos && state.find('*') == std::string::npos;
}

Finding nodes_finding(const SlurmFacts& facts) {
  const auto up = std::count_if(facts.nodes.begin(), facts.nodes.end(), can_run);
  std::string found = facts.no_nodes;
  if (found.empty())
    found = std::to_string(up) + " of " + std::to_string(facts.nodes.size()) + " can run jobs";
  return {.what = "nodes",
          .purpose = "to run the hosts",
          .good = up > 0,
          .found = found,
          .advice = "sm nodes shows why a node is not available"};
}

/// What holds once a job is there: how it is limited, stopped, taken away.
std::vector<Finding> settings_findings(const SlurmFacts& facts) {
  const std::string kill_wait = value(facts, "KillWait");
  const std::string timeout = value(facts, "SlurmdTimeout");
  const std::string mode = value(facts, "PreemptMode");
  const bool suspends = mode.find("SUSPEND") != std::string::npos;
  return {
      {.what = "proctrack",
       .purpose = "for Slurm to end all processes of a job",
       .good = names(facts, "ProctrackType", "cgroup"),
       .needed = false,
       .found = value(facts, "ProctrackType"),
       .advice = "set ProctrackType=proctrack/cgroup; otherwise only muster ends the processes"},
      {.what = "limits",
       .purpose = "to end only the host that exceeds its memory limit",
       .good = names(facts, "TaskPlugin", "cgroup") && value(facts, "ConstrainRAMSpace") == "yes",
       .needed = false,
       .found = value(facts, "TaskPlugin"),
       .advice = "set TaskPlugin=task/cgroup, and ConstrainRAMSpace=yes in cgroup.conf"},
      {.what = "kill wait",
       .purpose = "time between SIGTERM and SIGKILL when a job is cancelled",
       .good = slurm::seconds_in(kill_wait).value_or(std::chrono::seconds(0)) >= kill_wait_min,
       .needed = false,
       .found = kill_wait,
       .advice = "set KillWait to 30 or more to leave time for writing a checkpoint; sm stop has "
                 "its own limit"},
      {.what = "lost nodes",
       .purpose = "time until Slurm notices a lost node; muster notices it sooner, through its own "
                  "connection",
       .good = slurm::seconds_in(timeout).value_or(std::chrono::seconds(0)).count() > 0,
       .needed = false,
       .found = timeout,
       .advice = "set SlurmdTimeout above 0: with 0, only muster notices a dead node, and Slurm "
                 "keeps the node in its jobs"},
      {.what = "preemption",
       .purpose = "to restart preempted jobs automatically",
       .good = !suspends,
       .needed = false,
       .found = mode,
       .advice = "PreemptMode SUSPEND pauses jobs, which keep their GPU memory; with REQUEUE or "
                 "CANCEL, they restart elsewhere"},
  };
}

/// How jobs are given out, and what is kept of them.
std::vector<Finding> site_findings(const SlurmFacts& facts) {
  const bool keeps = names(facts, "AccountingStoreFlags", "job_script") ||
                     names(facts, "AccountingStoreFlags", "job_env");
  const std::string select = value(facts, "SelectType");
  return {
      {.what = "accounting",
       .purpose = "to hide the scripts and environments of jobs from other users",
       .good = !keeps,
       .needed = false,
       .found = value(facts, "AccountingStoreFlags"),
       .advice = "Slurm's accounting stores scripts and environments of jobs; those of muster "
                 "contain no secrets, but other sbatch scripts may"},
      {.what = "select",
       .purpose = "to share a node among jobs with --cpus and --memory",
       .good = select != "select/linear",
       .needed = false,
       .found = select,
       .advice = "select/linear always allocates whole nodes"},
      {.what = "requeue",
       .purpose = "ignored: muster submits jobs with --no-requeue and restarts them itself",
       .good = true,
       .needed = false,
       .found = value(facts, "JobRequeue")},
      {.what = "MPI ports",
       .purpose = "ports that srun reserves for MPI; ignored: muster's launchers choose their own",
       .good = true,
       .needed = false,
       .found = value(facts, "MpiParams")},
  };
}

Finding partitions_finding(const SlurmFacts& facts) {
  std::vector<std::string> texts;
  bool all_up = !facts.partitions.empty();
  for (const slurm::Partition& each : facts.partitions) {
    texts.push_back(each.name + " " + each.state + ", at most " + each.time_max);
    all_up = all_up && each.state == "up";
  }
  return {.what = "partitions",
          .purpose =
              "their time limits: a job whose --timeout plus 25 minutes exceeds the limit waits "
              "forever",
          .good = all_up,
          .needed = false,
          .found = join(texts, "; "),
          .advice = "jobs in a partition that is not up wait or are rejected"};
}

double skew_of(const SlurmFacts& facts, const NodeWord& word) {
  if (word.clock < facts.asked) return word.clock - facts.asked;
  if (word.clock > facts.answered) return word.clock - facts.answered;
  return 0;
}

/// "node2, node5" of those nodes that `is_bad` names, each with what it says.
template <class Says>
std::string each_bad(const std::vector<NodeWord>& words, Says says) {
  std::vector<std::string> bad;
  for (const NodeWord& word : words)
    if (const std::string text = says(word); !text.empty()) bad.push_back(word.name + text);
  return join(bad, ", ");
}

/// A thing that every node should have; `bad` names those that lack it.
Finding of_nodes(const char* what, const char* purpose, std::string bad, std::size_t count,
                 const char* advice) {
  const bool good = bad.empty();
  if (good) bad = count == 1 ? "on 1 node" : "on all " + std::to_string(count) + " nodes";
  return {.what = what,
          .purpose = purpose,
          .good = good,
          .needed = false,
          .found = std::move(bad),
          .advice = advice};
}

std::vector<Finding> probe_findings(const SlurmFacts& facts) {
  if (!facts.words)
    return {{.what = "probe",
             .purpose = "to check idle nodes",
             .good = false,
             .needed = false,
             .found = facts.no_words,
             .advice = "try again when a node is idle"}};
  const std::vector<NodeWord>& words = *facts.words;
  const auto lacks = [](bool has) { return std::string(has ? "" : " has none"); };
  return {
      of_nodes("clocks", "synchronized clocks",
               each_bad(words,
                        [&](const NodeWord& word) {
                          const double skew = skew_of(facts, word);
                          if (skew > -skew_max_seconds && skew < skew_max_seconds)
                            return std::string();
                          std::array<char, 48> text{};
                          std::snprintf(text.data(), text.size(), " %+.1f s", skew);
                          return std::string(text.data());
                        }),
               words.size(),
               "run chrony or ntpd on those nodes; munge rejects differences above five minutes"),
      of_nodes("room", "free space in /tmp for the files of jobs",
               each_bad(words,
                        [](const NodeWord& word) {
                          const std::int64_t mib = word.free_kib >> 10;
                          return word.free_kib >= free_kib_min
                                     ? ""
                                     : " " + std::to_string(mib) + " MiB free";
                        }),
               words.size(), "free up space in /tmp on those nodes"),
      of_nodes("namespaces", "user namespaces, for hosts without root",
               each_bad(words, [&](const NodeWord& word) { return lacks(word.user_namespaces); }),
               words.size(), "set user.max_user_namespaces above 0; jobs of root don't need it"),
      of_nodes("cgroups", "cgroup version 1, with which hosts as containers were tested",
               each_bad(words,
                        [](const NodeWord& word) {
                          return std::string(word.cgroups == "cgroup2fs" ? " has version 2" : "");
                        }),
               words.size(), "light hosts don't need cgroups"),
      of_nodes("runc", "for hosts as containers",
               each_bad(words, [&](const NodeWord& word) { return lacks(!word.runc.empty()); }),
               words.size(), "apt-get install runc; light hosts don't need it"),
      of_nodes("python3", "for Python scripts",
               each_bad(words, [&](const NodeWord& word) { return lacks(!word.python.empty()); }),
               words.size(),
               "install python3 on those nodes, or choose another interpreter with --python"),
  };
}

}  // namespace

std::vector<Finding> findings(const SlurmFacts& facts) {
  const std::string version = value(facts, "SLURM_VERSION");
  std::vector<Finding> all = {
      {.what = "Slurm",
       .purpose = "connection to Slurm's controller",
       .good = facts.no_settings.empty(),
       .found = facts.no_settings,
       .advice =
           "run this on a submit host; SLURM_CONF can set the path of Slurm's configuration"}};
  if (!facts.no_settings.empty()) return all;
  all.push_back({.what = "version",
                 .purpose = "17.11 or newer is required",
                 .good = is_known(version),
                 .found = version,
                 .advice = "install a newer version of Slurm"});
  all.push_back({.what = "submission",
                 .purpose = "permission to submit jobs",
                 .good = facts.no_trial.empty(),
                 .found = facts.no_trial,
                 .advice = "set --slurm partition=, account= and qos= as your site requires"});
  all.push_back(nodes_finding(facts));
  all.push_back({.what = "address",
                 .purpose = "for nodes to connect to this machine",
                 .good = !facts.address.empty(),
                 .found = facts.address,
                 .advice = "found no route to the first node; set --slurm address= to an address "
                           "of this machine that nodes can reach"});
  for (Finding& each : settings_findings(facts)) all.push_back(std::move(each));
  for (Finding& each : site_findings(facts)) all.push_back(std::move(each));
  all.push_back(partitions_finding(facts));
  if (facts.words || !facts.no_words.empty())
    for (Finding& each : probe_findings(facts)) all.push_back(std::move(each));
  return all;
}

}  // namespace muster::cli
