#include "engine/slurm/orders.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "engine/slurm/words.h"

namespace muster::slurm {
namespace {

/// Slurm's messages for ESLURM_..._COMM_..., SLURM_COMMUNICATIONS_..., and what munge says. Source:
/// slurm's src/common/slurm_errno.c; the first three and the last were seen (22.05).
constexpr std::array no_answers = {
    "Unable to contact slurm controller",
    "Socket timed out",
    "Protocol authentication error",
    "Zero Bytes were transmitted",
    "Communication shutdown",
    "Communication connection",
    "Connection refused",
    "Transport endpoint",
    "Munge encode failed",
};

}  // namespace

std::optional<std::string> submitted_id(std::string_view out) {
  const std::string word = trim(out.substr(0, out.find('\n')));
  const std::string id = word.substr(0, word.find(';'));
  const std::optional<std::int64_t> number = parse_integer(id);
  if (!number || *number <= 0) return std::nullopt;
  return id;
}

bool is_no_answer(std::string_view err) {
  return std::any_of(no_answers.begin(), no_answers.end(), [&](std::string_view text) {
    return err.find(text) != std::string_view::npos;
  });
}

Args plan_sbcast(const std::string& id, const std::string& from, const std::string& to) {
  return {"sbcast", "-j", id, "-p", from, to};
}

std::string launch_failure(std::string_view shown, const std::vector<Node>& nodes) {
  const auto has = [&](std::string_view field) {
    return shown.find(field) != std::string_view::npos;
  };
  const bool unasked =
      has(" JobState=CANCELLED ") && has(" ExitCode=0:0 ") && !nodes_shown(shown).empty();
  if (!unasked) return "";
  for (const Node& node : nodes)
    if (node.reason.starts_with("Prolog error"))
      return node.name + " could not start the job: its prolog failed";
  // Slurm has cancelled the job, and is about to drain the node.
  return has(" RunTime=00:00:00 ") ? "it could not start the job, usually because its prolog failed"
                                   : "";
}

std::optional<StartFailure> start_failure(std::string_view shown, std::string_view nonce) {
  const std::string before = " Comment=muster:" + std::string(nonce) + "|";
  const std::size_t at = shown.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  shown.remove_prefix(at + before.size());
  const std::string_view said = shown.substr(0, shown.find('|'));
  const std::size_t colon = said.find(": ");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return StartFailure{to_utf8(said.substr(0, colon)), to_utf8(said.substr(colon + 2))};
}

std::string down_among(const std::vector<Node>& nodes) {
  std::vector<std::string> down;
  for (const Node& node : nodes)
    if (node.state.starts_with("down"))
      down.push_back(node.name + " is " + node_words(node.state) +
                     (node.reason.empty() ? "" : ": " + node.reason));
  return join(down, ", ");
}

std::string nodes_shown(std::string_view shown) {
  constexpr std::string_view field = " NodeList=";
  const std::size_t at = shown.find(field);
  if (at == std::string_view::npos) return "";
  shown.remove_prefix(at + field.size());
  const std::string nodes(shown.substr(0, shown.find_first_of(" \n")));
  return nodes == "(null)" ? "" : nodes;
}

std::string node_named_by_sbcast(std::string_view said) {
  constexpr std::string_view before = "REQUEST_FILE_BCAST(";
  const std::size_t at = said.find(before);
  if (at == std::string_view::npos) return "";
  said.remove_prefix(at + before.size());
  const std::size_t end = said.find(')');
  return end == std::string_view::npos ? "" : std::string(said.substr(0, end));
}

bool is_over_to_sbcast(std::string_view said) {
  // ESLURM_ALREADY_DONE and ESLURM_INVALID_JOB_ID. Source: slurm's slurm_errno.c; the first was
  // seen (22.05) where a prolog failed while a file was being brought.
  return said.find("Job/step already completing or completed") != std::string_view::npos ||
         said.find("Invalid job id specified") != std::string_view::npos;
}

Args plan_scancel(const std::string& id) {
  return {"scancel", id};
}

Args plan_show_job(const std::string& id) {
  return {"scontrol", "-o", "show", "job", id};
}

bool is_preempted(std::string_view shown) {
  constexpr std::string_view field = " PreemptTime=";
  const std::size_t at = shown.find(field);
  if (at == std::string_view::npos) return false;
  const std::string_view value = shown.substr(at + field.size());
  return !value.empty() && value.front() >= '0' && value.front() <= '9';
}

Args plan_scancel_named(const std::string& slurm_name) {
  return {"scancel", "--name=" + slurm_name};
}

}  // namespace muster::slurm
