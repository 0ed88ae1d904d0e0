#include "cli/fit/launch_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "job/launch/launchers.h"
#include "job/limits.h"
#include "job/training/training.h"

namespace muster::cli {
namespace {

using launch::LauncherRow;

bool is_given(const LaunchWords& words, const LauncherRow& row) {
  const auto at = words.launchers.find(std::string(row.asked.flag));
  return at != words.launchers.end() && at->second;
}

/// The launcher that a flag asks for; null if none does.
Result<const LauncherRow*> flagged(const LaunchWords& words) {
  const LauncherRow* found = nullptr;
  for (const LauncherRow& row : launch::launchers()) {
    if (!is_given(words, row)) continue;
    if (found != nullptr)
      return fail(Errc::invalid_input, std::string(found->asked.flag) + " and " +
                                           std::string(row.asked.flag) +
                                           " cannot be combined: a job has only one launcher");
    found = &row;
  }
  return found;
}

const LauncherRow& mpi_row() {
  return launch::launcher_of(launch::Runner::mpi);
}

/// Operators start as many processes as their framework needs; only launchers with a plan of their
/// own are given a number.
Result<void> check_use(const LauncherRow& row, const LaunchWords& words) {
  const std::string flag(row.asked.flag);
  if (!words.custom_mpi_options.empty() && row.custom_options.empty())
    return fail(Errc::invalid_input, "--custom-mpi-options: " + flag + " does not use mpirun");
  if (!words.processes_per_host.empty() && row.plan == nullptr)
    return fail(Errc::invalid_input,
                "--processes-per-host: " + flag +
                    " sets the number of processes itself; omit --processes-per-host");
  return {};
}

}  // namespace

bool LaunchWords::any() const {
  return !processes_per_host.empty() || !custom_mpi_options.empty() ||
         std::any_of(launchers.begin(), launchers.end(),
                     [](const auto& launcher) { return launcher.second; });
}

void bind(command::Line& line, LaunchWords& words) {
  line.text("--processes-per-host", words.processes_per_host);
  line.text("--custom-mpi-options", words.custom_mpi_options);
  for (const LauncherRow& row : launch::launchers())
    if (!row.asked.flag.empty())
      line.flag(row.asked.flag, words.launchers[std::string(row.asked.flag)]);
}

Result<LaunchChoice> launch_choice(const LaunchWords& words, int hosts) {
  LaunchChoice choice;
  const int processes = TRY(whole_number("--processes-per-host", words.processes_per_host,
                                         job::processes_per_host_max, 1));
  if (!words.processes_per_host.empty()) choice.processes_per_host = processes;
  choice.custom_mpi_options = words.custom_mpi_options;
  const LauncherRow* row = TRY(flagged(words));
  const bool many = choice.processes_per_host && hosts * processes > 1;
  if (row == nullptr && (many || !words.custom_mpi_options.empty())) row = &mpi_row();
  if (row == nullptr) return choice;
  TRY(check_use(*row, words));
  choice.hyperparameter = row->asked.hyperparameter;
  choice.mpi = row == &mpi_row();
  if (choice.mpi) choice.processes_per_host = processes;
  return choice;
}

std::map<std::string, Json> parameters_of(const LaunchChoice& choice) {
  std::map<std::string, Json> all;
  if (choice.hyperparameter.empty()) return all;
  all[choice.hyperparameter] = true;
  if (choice.processes_per_host)
    all["sagemaker_mpi_num_of_processes_per_host"] = *choice.processes_per_host;
  if (!choice.custom_mpi_options.empty())
    all[std::string(mpi_row().custom_options)] = choice.custom_mpi_options;
  return all;
}

std::string apart_note(const std::string& script, const LaunchChoice& choice, int hosts,
                       const Pairs& hyperparameters, const Pairs& environment) {
  if (!script.ends_with(".py")) return {};  // A shell script calls `sm mpirun` and the like itself.
  if (hosts < 2 || !choice.hyperparameter.empty()) return {};
  const std::vector<std::string_view>& known = job::distribution_parameters();
  for (const auto& [name, value] : hyperparameters)
    if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  for (const auto& [name, value] : environment)
    if (name == "SAGEMAKER_TRAINING_MODULE") return {};  // The framework's module decides.
  return std::to_string(hosts) +
         " hosts with 1 process each, which muster does not connect: add --mpi, --torchrun or "
         "--processes-per-host N, unless the script connects them itself";
}

}  // namespace muster::cli
