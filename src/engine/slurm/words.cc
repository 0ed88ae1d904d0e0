#include "engine/slurm/words.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"

namespace muster::slurm {
namespace {

struct Word {
  std::string_view slurm;
  std::string_view plain;
};

struct State {
  std::string_view slurm;
  Standing standing;
};

constexpr std::array states = {
    State{"PENDING", Standing::waiting},      State{"REQUEUED", Standing::waiting},
    State{"REQUEUE_FED", Standing::waiting},  State{"REQUEUE_HOLD", Standing::waiting},
    State{"SPECIAL_EXIT", Standing::waiting}, State{"RESV_DEL_HOLD", Standing::waiting},
    State{"CONFIGURING", Standing::starting}, State{"RUNNING", Standing::running},
    State{"RESIZING", Standing::running},     State{"SIGNALING", Standing::running},
    State{"SUSPENDED", Standing::suspended},  State{"STOPPED", Standing::suspended},
    State{"COMPLETING", Standing::ending},    State{"STAGE_OUT", Standing::ending},
    State{"BOOT_FAIL", Standing::over},       State{"CANCELLED", Standing::over},
    State{"COMPLETED", Standing::over},       State{"DEADLINE", Standing::over},
    State{"FAILED", Standing::over},          State{"NODE_FAIL", Standing::over},
    State{"OUT_OF_MEMORY", Standing::over},   State{"PREEMPTED", Standing::over},
    State{"REVOKED", Standing::over},         State{"TIMEOUT", Standing::over}};

constexpr std::string_view held = "held; run `scontrol release` to continue";
constexpr std::string_view held_by_operator = "held by an operator of the cluster";

constexpr std::array reasons = {
    Word{"Resources", "nodes are not free yet"},
    Word{"Priority", "higher-priority jobs start first"},
    Word{"Dependency", "waiting for another job"},
    Word{"DependencyNeverSatisfied", "never starts: a job that it depends on failed"},
    Word{"BeginTime", "its start time has not been reached"},
    Word{"Licenses", "licences are not free yet"},
    Word{"Reservation", "its reservation has not started"},
    Word{"ReservationDeleted", "its reservation was deleted"},
    Word{"JobHeldUser", held},
    Word{"JobHeldAdmin", held_by_operator},
    Word{"JobHoldMaxRequeue", "held: too many restarts"},
    Word{"launch failed requeued held",
         "held: a node could not start it, usually because its prolog failed"},
    Word{"launch_failed_requeued_held",
         "held: a node could not start it, usually because its prolog failed"},
    Word{"job requeued in held state", held},
    Word{"PartitionDown", "its partition is down"},
    Word{"PartitionInactive", "its partition is not accepting jobs"},
    Word{"PartitionNodeLimit", "exceeds the node limit of its partition"},
    Word{"PartitionTimeLimit", "exceeds the time limit of its partition"},
    Word{"PartitionConfig", "requests more than its partition has"},
    Word{"BadConstraints", "no node satisfies its constraints"},
    Word{"NodeDown", "a node that it needs is down"},
    Word{"InvalidAccount", "invalid account"},
    Word{"InvalidQOS", "invalid QOS"},
    Word{"AccountNotAllowed", "its account is not allowed to use the partition"},
    Word{"QOSNotAllowed", "its QOS is not allowed to use the partition"},
    Word{"Cleaning", "its previous run is being cleaned up"},
    Word{"JobArrayTaskLimit", "its job array has reached the limit of running tasks"},
    Word{"FrontEndDown", "the node that starts jobs is down"},
    Word{"NonZeroExitCode", "its program exited with an error"},
    Word{"Prolog", "the prolog is running on its nodes"},
};

/// Beginnings, the longest of one beginning first.
constexpr std::array reason_families = {
    Word{"ReqNodeNotAvail", "nodes that it needs are down, drained or reserved"},
    Word{"Nodes required for job are DOWN", "nodes that it needs are down, drained or reserved"},
    Word{"QOSMax", "the limit of its QOS is reached"},
    Word{"QOSGrp", "the limit for all jobs of its QOS is reached"},
    Word{"QOSMin", "requests less than the minimum of its QOS"},
    Word{"AssocMax", "the limit of its account is reached"},
    Word{"AssocGrp", "the limit for all jobs of its account is reached"},
    Word{"MaxCpuPerAccount", "the limit of its account is reached"},
    Word{"MaxMemPerLimit", "exceeds the memory limit of a node"},
    Word{"BurstBuffer", "its files are being staged"},
};

constexpr std::array node_states = {
    Word{"idle", "free"},
    Word{"mixed", "partly in use"},
    Word{"allocated", "in use"},
    Word{"completing", "a job is ending"},
    Word{"down", "down"},
    Word{"drained", "drained: does not accept jobs"},
    Word{"draining", "draining: does not accept new jobs"},
    Word{"failing", "failing: does not accept new jobs"},
    Word{"fail", "failed: does not accept jobs"},
    Word{"maint", "in maintenance"},
    Word{"reserved", "reserved"},
    Word{"planned", "reserved for a waiting job"},
    Word{"reboot", "will be rebooted"},
    Word{"inval", "does not match Slurm's configuration"},
    Word{"future", "not available yet"},
    Word{"unknown", "state unknown"},
};

/// Marks behind a node's state.
constexpr std::array node_marks = {Word{"*", "not responding"},
                                   Word{"~", "powered down"},
                                   Word{"#", "powering up"},
                                   Word{"!", "will be powered down"},
                                   Word{"%", "powering down"},
                                   Word{"$", "in a reservation for maintenance"},
                                   Word{"@", "will be rebooted"},
                                   Word{"^", "booting"},
                                   Word{"-", "reserved for a waiting job"}};

template <std::size_t count>
std::string_view plain(const std::array<Word, count>& words, std::string_view slurm) {
  const auto found = std::find_if(words.begin(), words.end(),
                                  [&](const Word& word) { return word.slurm == slurm; });
  return found == words.end() ? std::string_view() : found->plain;
}

/// "CANCELLED" of "CANCELLED by 1000", and "CANCELLED+".
std::string_view state_word(std::string_view state) {
  return state.substr(0, state.find_first_of(" +"));
}

bool says_nothing(std::string_view reason) {
  return reason.empty() || reason == "None" || reason == "(null)";
}

std::string with_reason(std::string text, std::string_view reason) {
  if (says_nothing(reason)) return text;
  return text + " (" + std::string(reason) + ")";
}

JobEnd cancelled(std::string_view state, std::string_view reason) {
  const std::size_t by = state.find(" by ");
  std::string text = "cancelled in Slurm";
  if (by != std::string_view::npos) text += " by user " + std::string(state.substr(by + 4));
  return {"Stopped", "Stopped", with_reason(std::move(text), reason)};
}

}  // namespace

Standing standing_of(std::string_view state) {
  const std::string_view word = state_word(state);
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const State& each) { return each.slurm == word; });
  return found == states.end() ? Standing::unknown : found->standing;
}

std::string why_it_waits(std::string_view reason) {
  if (says_nothing(reason)) return "";
  std::string_view words = plain(reasons, reason);
  for (const Word& family : reason_families)
    if (words.empty() && reason.starts_with(family.slurm)) words = family.plain;
  if (words.empty()) return std::string(reason);
  return std::string(words) + " (" + std::string(reason) + ")";
}

bool is_held_by_failed_launch(std::string_view reason) {
  return reason.starts_with("launch failed requeued held") ||
         reason.starts_with("launch_failed_requeued_held");
}

JobEnd end_of(std::string_view state, std::string_view reason) {
  const std::string_view word = state_word(state);
  if (word == "COMPLETED") return {"Completed", "Completed", ""};
  if (word == "CANCELLED") return cancelled(state, reason);
  if (word == "TIMEOUT" || word == "DEADLINE")
    return {"Stopped", "MaxRuntimeExceeded",
            with_reason("reached its time limit in Slurm", reason)};
  if (word == "PREEMPTED")
    return {"Failed", "Interrupted", "CapacityError: preempted by Slurm for a higher-priority job"};
  if (word == "NODE_FAIL")
    return {"Failed", "Failed",
            with_reason("InternalServerError: Slurm lost one of the job's nodes", reason), true};
  if (word == "BOOT_FAIL")
    return {"Failed", "Failed", with_reason("InternalServerError: a node failed to boot", reason),
            true};
  if (word == "OUT_OF_MEMORY")
    return {"Failed", "Failed",
            "AlgorithmError: out of memory: a node exceeded the job's memory limit in Slurm"};
  if (word == "REVOKED")
    return {"Failed", "Failed",
            "InternalServerError: another cluster in the federation started the job"};
  // A script of ours ends well whatever the job did.
  if (word == "FAILED")
    return {"Failed", "Failed",
            with_reason("InternalServerError: Slurm could not finish the job's script", reason)};
  return {"Failed", "Failed",
          with_reason("InternalServerError: unexpected Slurm state " + std::string(state), reason)};
}

std::string node_words(std::string_view state) {
  std::string marks;
  while (!state.empty() && !plain(node_marks, state.substr(state.size() - 1)).empty()) {
    marks = ", " + std::string(plain(node_marks, state.substr(state.size() - 1))) + marks;
    state.remove_suffix(1);
  }
  const std::string_view words = plain(node_states, state);
  return std::string(words.empty() ? state : words) + marks;
}

}  // namespace muster::slurm
