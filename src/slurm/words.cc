#include "slurm/words.h"

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

constexpr std::string_view held = "held; `scontrol release` lets it go on";
constexpr std::string_view held_by_operator = "held by an operator of the cluster";

constexpr std::array reasons = {
    Word{"Resources", "nodes are not free yet"},
    Word{"Priority", "jobs of higher priority come first"},
    Word{"Dependency", "waits for another job"},
    Word{"DependencyNeverSatisfied", "waits for a job that did not end as it should: never starts"},
    Word{"BeginTime", "its time to begin has not come"},
    Word{"Licenses", "licences are not free yet"},
    Word{"Reservation", "its reservation has not begun"},
    Word{"ReservationDeleted", "its reservation was deleted"},
    Word{"JobHeldUser", held},
    Word{"JobHeldAdmin", held_by_operator},
    Word{"JobHoldMaxRequeue", "held: it was started too often"},
    Word{"launch failed requeued held", "held: a node could not start it (its prolog, mostly)"},
    Word{"launch_failed_requeued_held", "held: a node could not start it (its prolog, mostly)"},
    Word{"job requeued in held state", held},
    Word{"PartitionDown", "its partition is down"},
    Word{"PartitionInactive", "its partition takes no jobs now"},
    Word{"PartitionNodeLimit", "asks for more nodes than its partition lets a job have"},
    Word{"PartitionTimeLimit", "asks for more time than its partition lets a job have"},
    Word{"PartitionConfig", "asks for more than its partition has"},
    Word{"BadConstraints", "asks for what no node has"},
    Word{"NodeDown", "a node that it needs is down"},
    Word{"InvalidAccount", "its account is not valid"},
    Word{"InvalidQOS", "its QOS is not valid"},
    Word{"AccountNotAllowed", "its account may not use the partition"},
    Word{"QOSNotAllowed", "its QOS may not use the partition"},
    Word{"Cleaning", "an earlier start of it is being cleared away"},
    Word{"JobArrayTaskLimit", "as many of its array run as may"},
    Word{"FrontEndDown", "the node that starts jobs is down"},
    Word{"NonZeroExitCode", "its program ended with an error"},
    Word{"Prolog", "its nodes' prolog runs"},
};

/// Beginnings, the longest of one beginning first.
constexpr std::array reason_families = {
    Word{"ReqNodeNotAvail", "nodes that it needs are down, drained or reserved"},
    Word{"Nodes required for job are DOWN", "nodes that it needs are down, drained or reserved"},
    Word{"QOSMax", "its QOS lets no more run at once"},
    Word{"QOSGrp", "all jobs of its QOS together have what they may"},
    Word{"QOSMin", "requests less than the minimum of its QOS"},
    Word{"AssocMax", "its account lets no more run at once"},
    Word{"AssocGrp", "all jobs of its account together have what they may"},
    Word{"MaxCpuPerAccount", "its account lets no more run at once"},
    Word{"MaxMemPerLimit", "asks for more memory than a node may give it"},
    Word{"BurstBuffer", "its files are brought"},
};

constexpr std::array node_states = {
    Word{"idle", "free"},
    Word{"mixed", "partly in use"},
    Word{"allocated", "in use"},
    Word{"completing", "a job is ending"},
    Word{"down", "down"},
    Word{"drained", "drained: takes no jobs"},
    Word{"draining", "draining: takes no more jobs"},
    Word{"failing", "failing: takes no more jobs"},
    Word{"fail", "failed: takes no jobs"},
    Word{"maint", "in maintenance"},
    Word{"reserved", "reserved"},
    Word{"planned", "kept for a job that waits"},
    Word{"reboot", "is to be booted"},
    Word{"inval", "says other things of itself than Slurm's configuration does"},
    Word{"future", "not there yet"},
    Word{"unknown", "not heard of yet"},
};

/// Marks behind a node's state.
constexpr std::array node_marks = {Word{"*", "does not answer"},
                                   Word{"~", "powered down"},
                                   Word{"#", "powering up"},
                                   Word{"!", "to be powered down"},
                                   Word{"%", "powering down"},
                                   Word{"$", "in a reservation for maintenance"},
                                   Word{"@", "to be booted"},
                                   Word{"^", "booting"},
                                   Word{"-", "kept for a job that waits"}};

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
            with_reason("Slurm ended it at its time limit", reason)};
  if (word == "PREEMPTED")
    return {"Failed", "Interrupted",
            "CapacityError: Slurm took its nodes away for a job that comes before it"};
  if (word == "NODE_FAIL")
    return {"Failed", "Failed",
            with_reason("InternalServerError: Slurm lost one of its nodes", reason), true};
  if (word == "BOOT_FAIL")
    return {"Failed", "Failed", with_reason("InternalServerError: a node did not come up", reason),
            true};
  if (word == "OUT_OF_MEMORY")
    return {"Failed", "Failed",
            "AlgorithmError: out of memory: a node used more than Slurm gave the job"};
  if (word == "REVOKED")
    return {"Failed", "Failed", "InternalServerError: another cluster of the federation took it"};
  // A script of ours ends well whatever the job did.
  if (word == "FAILED")
    return {"Failed", "Failed",
            with_reason("InternalServerError: Slurm could not run its script to the end", reason)};
  return {"Failed", "Failed",
          with_reason("InternalServerError: Slurm says " + std::string(state), reason)};
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
