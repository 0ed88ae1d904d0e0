#include "os/supervise/stop_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace muster::supervise {
namespace {

constexpr std::array shells = {"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "busybox"};
/// Programs, and modules of Python's, that start ranks.
constexpr std::array launchers = {
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "orterun",
    "prterun",
    "prte",
    "prted",
    "orted",
    "hydra_pmi_proxy",
    "torchrun",
    "accelerate",
    "hydra_bstrap_proxy",
    "deepspeed",
    "horovodrun",
    "torch.distributed.run",
    "smddprun",
    "accelerate-launch",
    "torch.distributed.launch",
    "deepspeed.launcher.launch",
    "deepspeed.launcher.runner",
    "accelerate.commands.launch",
};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_shell(std::string_view program) {
  if (program.starts_with('-')) program.remove_prefix(1);  // A login shell.
  return is_among(shells, program);
}

/// The script or module that an interpreter runs; empty for none.
std::string_view script_of(const Args& argv) {
  for (std::size_t at = 1; at < argv.size(); ++at) {
    const std::string_view word = argv[at];
    if (word == "-m") return at + 1 < argv.size() ? std::string_view(argv[at + 1]) : "";
    if (word == "-c") return {};
    if (!word.starts_with('-')) return base_name(word);
  }
  return {};
}

/// `sm rank`, whose program gets the signal through its `train`.
bool is_rank(const StopProcess& process) {
  return process.argv.size() > 1 && process.argv[1] == "rank";
}

/// One of the processes, with its place in their tree.
struct Node {
  const StopProcess* process = nullptr;
  const Node* parent = nullptr;  ///< Null at the top.
  StopRole role = StopRole::user;
  bool foreground = true;
  bool answered_for = false;    ///< By a program above it that minds the signal.
  bool holds = false;           ///< Others get the signal only after it has ended.
  bool has_foreground = false;  ///< A child of it was not started with `&`.

  bool is_above(const Node& other) const {
    for (const Node* at = other.parent; at != nullptr; at = at->parent)
      if (at == this) return true;
    return false;
  }
};

/// The processes' tree, without what is below muster's own.
std::vector<Node> tree_of(const std::vector<StopProcess>& processes) {
  std::vector<Node> nodes;
  nodes.reserve(processes.size());  // Nodes point to each other.
  std::map<pid_t, Node*> by_pid;
  std::map<pid_t, bool> left_out;
  for (const StopProcess& each : processes) {
    if (left_out[each.parent]) {
      left_out[each.pid] = true;
      continue;
    }
    const auto above = by_pid.find(each.parent);
    Node node{.process = &each, .role = role_of(each)};
    node.parent = above == by_pid.end() ? nullptr : above->second;
    if (node.role == StopRole::muster) left_out[each.pid] = true;
    if (above != by_pid.end() && !each.asynchronous) above->second->has_foreground = true;
    nodes.push_back(node);
    by_pid[each.pid] = &nodes.back();
  }
  return nodes;
}

void place(Node& node, pid_t main) {
  const Node* above = node.parent;
  const StopProcess& process = *node.process;
  const bool waited_by_shell =
      above != nullptr && above->role == StopRole::shell && !above->has_foreground;
  node.foreground = process.pid == main || ((above == nullptr || above->foreground) &&
                                            (!process.asynchronous || waited_by_shell));
  if (above != nullptr)
    node.answered_for =
        above->answered_for || (above->role == StopRole::user && above->process->minds);
  const bool saves = node.role != StopRole::launcher && process.minds && !process.ignores;
  node.holds = node.foreground &&
               (saves || node.role == StopRole::muster || node.role == StopRole::launcher);
}

}  // namespace

StopRole role_of(const StopProcess& process) {
  if (process.ours) return StopRole::muster;
  if (process.argv.empty()) return StopRole::user;
  const std::string_view program = base_name(process.argv[0]);
  if (is_among(launchers, program)) return StopRole::launcher;
  const bool shell = is_shell(program);
  if ((shell || program.starts_with("python") || program.starts_with("perl")) &&
      is_among(launchers, script_of(process.argv)))
    return StopRole::launcher;
  return shell ? StopRole::shell : StopRole::user;
}

std::vector<StopStep> plan_stop(const std::vector<StopProcess>& processes, pid_t main) {
  std::vector<Node> nodes = tree_of(processes);
  std::vector<const Node*> holders;
  for (Node& node : nodes) {
    place(node, main);
    if (node.holds) holders.push_back(&node);
  }
  std::vector<StopStep> steps;
  for (const Node& node : nodes) {
    StopStep step{.pid = node.process->pid, .started = node.process->started};
    step.awaited = node.foreground && !node.answered_for;
    const bool minds = node.process->minds;
    step.told = node.role != StopRole::muster || (minds && !is_rank(*node.process));
    if (node.role == StopRole::launcher) {
      for (const Node& rank : nodes)
        if (node.is_above(rank)) step.after.push_back(rank.process->pid);
      steps.push_back(std::move(step));
      continue;
    }
    for (const Node* holder : holders) {
      if (minds || !step.told || holder->is_above(node)) continue;
      const bool near =
          node.is_above(*holder) || node.parent == nullptr || node.parent->is_above(*holder);
      if (near) step.after.push_back(holder->process->pid);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace muster::supervise
