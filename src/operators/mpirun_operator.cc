#include <unistd.h>

#include "base/fd.h"
#include "base/terminal.h"
#include "base/text.h"
#include "env/job_files.h"
#include "launch/mpirun_options_table.h"
#include "launch/site.h"
#include "operators/operator.h"
#include "operators/operator_line.h"
#include "operators/operators.h"
#include "operators/planning.h"

namespace muster::operators {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

constexpr const char* footer = R"(
Every host of the job runs the same line. The leading host runs mpirun once, the others take part
and wait; all end as the program does. Standing alone it is mpirun on this machine.

custom options are mpirun's own, added to its line: -x NAME[=VALUE], -mca NAME VALUE, --bind-to ...
Those that the job rests on are refused by name: its hosts and counts, the launch of daemons (as by
-mca plm_*), what would run in place of a rank. Of Open MPI 4's options are
)";

constexpr const char* footer_end = R"(
With MPICH and Intel MPI they are mpiexec's: -genv NAME VALUE, -bind-to ...

examples:
  sm mpirun python train.py --epochs 3
  sm mpirun --process_per_hosts 3 --custom_mpi_options '-x TF_LOG_LEVEL=10' python train.py
  sm mpirun --print-plan ./solver input.txt

exit status: the program's (128 + its signal), 1 if it could not be run, 2 wrong usage.)";

struct MpirunFlags {
  std::string process_per_hosts, num_processes, custom_mpi_options;
};

/// The planners know these by their hyperparameters.
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

/// An error in the words of whoever typed the line.
Error in_flags(Error error) {
  for (const FlagName& name : flag_names)
    for (std::size_t at = error.text.find(name.hyperparameter); at != std::string::npos;
         at = error.text.find(name.hyperparameter))
      error.text.replace(at, std::string_view(name.hyperparameter).size(), name.flag);
  const std::string word = "hyperparameter ";
  if (error.text.starts_with(word + "--")) error.text.erase(0, word.size());
  return error;
}

Result<launch::HostPlan> plan_mpirun(const job::Training& training, const MpirunFlags& flags,
                                     const Args& command, const Env& env) {
  Wish wish;
  wish.runner = launch::Runner::mpi;
  wish.command = command;
  wish.folder = TRY(working_folder());
  wish.own_environment = true;
  for (const FlagName& name : flag_names)
    if (!(flags.*name.value).empty()) wish.options[name.hyperparameter] = flags.*name.value;
  Result<launch::HostPlan> plan = plan_host(training, env, wish);
  if (!plan) return in_flags(plan.error());
  return plan;
}

/// Every host gets as many processes as it has GPUs: for that all hosts must have told theirs.
Result<void> count_by_gpus(const job::Training& training, MpirunFlags& flags, const Args& args,
                           const Env& env, const Log& log) {
  if (!flags.process_per_hosts.empty() || training.hosts.size() < 2) return {};
  const launch::Site site = TRY(
      exchange_sites(training, name_of_line("sm mpirun", args), digest_of_line(args), 0, env, log));
  flags.process_per_hosts = std::to_string(TRY(launch::even_processes(site, flag_names[0].flag)));
  return {};
}

int print_plan(const MpirunFlags& flags, const Args& command, const Env& env) {
  const Log log(STDERR_FILENO, "sm mpirun", Log::Level::info);
  const Result<job::Training> training = env::read_site(env);
  const Result<launch::HostPlan> plan = training ? plan_mpirun(*training, flags, command, env)
                                                 : Result<launch::HostPlan>(training.error());
  if (plan) return say(STDOUT_FILENO, launch::plan_text(*plan)) ? 0 : exit_failure;
  log.error(plan.error().text);
  return plan.error().code == Errc::invalid_input ? exit_usage : exit_failure;
}

}  // namespace

int mpirun_main(const Args& args, const Env& env) {
  OperatorLine line("mpirun", "Run a program under MPI over all hosts of the job.",
                    footer + launch::mpirun_options_help({}) + footer_end);
  MpirunFlags flags;
  line.value({"--process_per_hosts", "--processes-per-host"}, flags.process_per_hosts,
             "processes on each host; default: one for each GPU, one without");
  line.value({"--num_processes"}, flags.num_processes,
             "processes of the whole job; default: as many as the hosts hold");
  line.value({"--custom_mpi_options"}, flags.custom_mpi_options,
             "more options for mpirun, quoted as for a shell");
  if (const std::optional<int> status = line.parse(args)) return *status;
  const Args& command = line.command();
  if (line.print_plan()) return print_plan(flags, command, env);
  const auto call = [&](const job::Training& training,
                        const Log& log) -> Result<launch::CallResult> {
    TRY(count_by_gpus(training, flags, args, env, log));
    const launch::HostPlan plan = TRY(plan_mpirun(training, flags, command, env));
    return make_call(training,
                     launch::call_from(plan, name_of_line("sm mpirun", args), digest_of_line(args)),
                     env, log);
  };
  return run_operator("mpirun", args, env, call);
}

}  // namespace muster::operators
