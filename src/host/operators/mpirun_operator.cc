#include <unistd.h>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "command/exit_codes.h"
#include "command/line.h"
#include "host/env/job_files.h"
#include "host/env/place.h"
#include "host/operators/operator.h"
#include "host/operators/operator_commands.h"
#include "host/operators/planning.h"
#include "host/operators/training_log.h"
#include "job/launch/mpirun_options_table.h"
#include "job/launch/site.h"
#include "job/limits.h"

namespace muster::operators {
namespace {

using command::exit_failed;
using command::exit_usage;

struct MpirunFlags {
  std::string process_per_hosts, num_processes, custom_mpi_options;
  bool numa = false;  ///< Each rank runs next to its GPU.
};

/// The planners take these values as hyperparameters.
struct FlagName {
  const char* flag;
  const char* hyperparameter;
  std::string MpirunFlags::*value;
};
const FlagName flag_names[] = {
    {"--process_per_hosts", "sagemaker_mpi_num_of_processes_per_host",
     &MpirunFlags::process_per_hosts},
    {"--num_processes", "sagemaker_mpi_num_processes", &MpirunFlags::num_processes},
    {"--custom_mpi_options", "sagemaker_mpi_custom_mpi_options", &MpirunFlags::custom_mpi_options},
};

/// The error in terms of the flags that the user typed.
Error in_flags(Error error) {
  for (const FlagName& name : flag_names)
    for (std::size_t at = error.text.find(name.hyperparameter); at != std::string::npos;
         at = error.text.find(name.hyperparameter))
      error.text.replace(at, std::string_view(name.hyperparameter).size(), name.flag);
  const std::string word = "hyperparameter ";
  if (error.text.starts_with(word + "--")) error.text.erase(0, word.size());
  return error;
}

/// Each host's share of a number that is set only for the whole job, so that `-np 3` has the same
/// meaning as for mpirun. The planner reports invalid numbers.
void share_out(const job::Training& training, MpirunFlags& flags) {
  const std::optional<std::int64_t> all = parse_integer(flags.num_processes);
  const auto hosts = static_cast<std::int64_t>(training.hosts.size());
  if (!flags.process_per_hosts.empty() || !all || *all < 1 ||
      *all > hosts * job::processes_per_host_max)
    return;
  flags.process_per_hosts = std::to_string((*all - 1) / hosts + 1);
}

Result<launch::HostPlan> plan_mpirun(const job::Training& training, const MpirunFlags& flags,
                                     const Args& command, bool display_map, const Env& env) {
  Wish wish;
  wish.display_map = display_map;
  wish.runner = launch::Runner::mpi;
  wish.command = command;
  wish.folder = TRY(working_folder());
  wish.own_environment = true;
  for (const FlagName& name : flag_names)
    if (!(flags.*name.value).empty()) wish.options[name.hyperparameter] = flags.*name.value;
  Result<launch::HostPlan> plan = plan_host(training, env, wish);
  if (!plan) return in_flags(plan.error());
  plan->ranks_near_gpus = flags.numa;
  return plan;
}

/// Every host gets as many processes as it has GPUs, which requires the GPU counts of all hosts.
Result<void> count_by_gpus(const job::Training& training, MpirunFlags& flags, const Args& args,
                           const Env& env, const Log& log) {
  if (!flags.process_per_hosts.empty() || training.hosts.size() < 2) return {};
  const launch::Site site = TRY(
      exchange_sites(training, name_of_line("sm mpirun", args), digest_of_line(args), 0, env, log));
  flags.process_per_hosts = std::to_string(TRY(launch::even_processes(site, flag_names[0].flag)));
  return {};
}

int print_plan(MpirunFlags flags, const Args& command, const Env& env) {
  const Log log = log_of("mpirun");
  const Result<job::Training> training = env::read_site(env);
  if (training) share_out(*training, flags);
  const Result<launch::HostPlan> plan = training
                                            ? plan_mpirun(*training, flags, command, false, env)
                                            : Result<launch::HostPlan>(training.error());
  if (plan) return say(STDOUT_FILENO, launch::plan_text(*plan)) ? 0 : exit_failed;
  log.error(plan.error().text);
  return plan.error().code == Errc::invalid_input ? exit_usage : exit_failed;
}

}  // namespace

int mpirun_main(const Args& all_args, const Env& own_env) {
  command::Line line(command::page_of("mpirun"));
  line.more_help("Open MPI 4 options for --custom_mpi_options:\n" +
                 launch::mpirun_options_help({}));
  MpirunFlags flags;
  bool print_only = false;
  for (const FlagName& name : flag_names) line.text(name.flag, flags.*name.value);
  line.flag("--numa", flags.numa);
  line.flag("--print-plan", print_only);
  env::HostFlags hosts;
  hosts.bind(line);
  if (const std::optional<command::Stop> stop = line.parse(all_args))
    return tell(*stop, log_of("mpirun"));
  const Result<Env> placed = env::placed(own_env, hosts);
  if (!placed) {
    log_of("mpirun").error(placed.error().text);
    return exit_usage;
  }
  const Env& env = *placed;
  const Args args = line.without(command::host_flags());
  const Args& command = line.rest();
  if (print_only) return print_plan(std::move(flags), command, env);
  const auto call = [&](const job::Training& training,
                        const Log& log) -> Result<launch::CallResult> {
    share_out(training, flags);
    TRY(count_by_gpus(training, flags, args, env, log));
    const TrainingLog training_log = TRY(TrainingLog::of_operator(training, env));
    const launch::HostPlan plan =
        TRY(plan_mpirun(training, flags, command, training_log.shows_info(), env));
    training_log.launch(plan);
    Result<launch::CallResult> result = make_call(
        training, launch::call_from(plan, name_of_line("sm mpirun", args), digest_of_line(args)),
        env, log);
    training_log.launched(plan);
    return result;
  };
  return run_operator("mpirun", args, env, call);
}

}  // namespace muster::operators
