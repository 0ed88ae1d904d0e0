#include "slurm/orders.h"

#include <algorithm>
#include <array>

#include "base/text.h"

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

bool is_launch_failure(std::string_view shown) {
  const auto has = [&](std::string_view field) {
    return shown.find(field) != std::string_view::npos;
  };
  return has(" JobState=CANCELLED ") && has(" RunTime=00:00:00 ") && has(" ExitCode=0:0 ") &&
         !has(" NodeList=(null) ");
}

std::string node_named_by_sbcast(std::string_view said) {
  constexpr std::string_view before = "REQUEST_FILE_BCAST(";
  const std::size_t at = said.find(before);
  if (at == std::string_view::npos) return "";
  said.remove_prefix(at + before.size());
  const std::size_t end = said.find(')');
  return end == std::string_view::npos ? "" : std::string(said.substr(0, end));
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
