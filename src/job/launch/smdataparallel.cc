#include "job/launch/efa.h"
#include "job/launch/launchers.h"
#include "job/launch/mpi_flavour.h"
#include "job/launch/mpi_line.h"
#include "job/launch/mpirun_options.h"
#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

constexpr const char* server_port = "7592";

/// The variables that the reference exports. As there, they override the job's own environment, and
/// only a custom option -x overrides them.
Env fabric_variables(const Inputs& inputs, const CustomOptions& custom) {
  const bool alone = inputs.hosts.size() == 1;
  Env variables = {{"FI_PROVIDER", "efa"},
                   {"NCCL_DEBUG", custom.nccl_debug.value_or("INFO")},
                   {"NCCL_SOCKET_IFNAME", inputs.interface},
                   {"RDMAV_FORK_SAFE", "1"}};
  variables[alone ? "SMDATAPARALLEL_USE_SINGLENODE" : "SMDATAPARALLEL_USE_HOMOGENEOUS"] = "1";
  if (has_efa(inputs.instance_type)) variables["NCCL_PROTO"] = "simple";
  if (has_efa_rdma(inputs.instance_type)) variables["FI_EFA_USE_DEVICE_RDMA"] = "1";
  if (!alone) {
    variables["SMDATAPARALLEL_SERVER_ADDR"] = inputs.hosts.front();
    variables["SMDATAPARALLEL_SERVER_PORT"] = server_port;
    variables["SAGEMAKER_INSTANCE_TYPE"] = inputs.instance_type;
  }
  return variables;
}

/// The user's options as open_mpi_line() takes them, so that its line is this runner's.
CustomOptions line_options(const Inputs& inputs, const Options& options, CustomOptions custom) {
  const bool prrte = options.mpi.major >= 5;
  const std::string concurrent = prrte ? "plm_ssh_num_concurrent" : "plm_rsh_num_concurrent";
  const std::string count = std::to_string(inputs.hosts.size());
  Args words = {prrte ? "--prtemca" : "-mca", concurrent, count};
  // Open MPI 5 has another name for it, and neither needs it: there is a slot for every rank.
  if (!prrte && !custom.oversubscribes) words.insert(words.begin(), "--oversubscribe");
  custom.words.insert(custom.words.begin(), words.begin(), words.end());
  custom.mca[concurrent] = count;
  // The reference leaves binding and mapping to mpirun here, and adds no --display-map.
  custom.binds = true;
  custom.mapping = custom.mapping.value_or(Mapping::by_slot);
  custom.verbose = false;
  return custom;
}

/// An error about options under the name by which this runner's are given.
Error renamed(Error error) {
  const std::string_view mpi = launcher_of(Runner::mpi).custom_options;
  const std::string own(launcher_of(Runner::smdataparallel).custom_options);
  if (error.text.starts_with(mpi)) error.text = own + error.text.substr(mpi.size());
  return error;
}

}  // namespace

// mpirun's line differs from the reference's in what plan_mpi's does: it ends in `sm rank`, not in
// smddprun and the user's program, which each rank asks its host for; daemons come by our agent and
// stay attached; no --tag-output, for a rank's lines are tagged by its host; a host alone uses its
// loopback, has as many slots as ranks, and no ofi where there is no fabric. LD_PRELOAD is not on
// it, but in the ranks' own environment.
Result<HostPlan> plan_smdataparallel(const Inputs& inputs, const Options& options) {
  if (is_hydra(options.mpi))
    return fail(Errc::invalid_input,
                "sagemaker_distributed_dataparallel_enabled: SMDDP requires Open MPI, but this "
                "mpirun comes from " +
                    name_of(options.mpi));
  // Checks and counts are plan_mpi's; what runs, its variables and the line are our own.
  Result<HostPlan> mpi = plan_mpi(inputs, options);
  if (!mpi) return renamed(mpi.error());
  HostPlan result = *std::move(mpi);
  const CustomOptions custom = TRY(parse_custom_options(inputs.custom_options, options.mpi));
  result.rank = TRY(program_command(inputs, options, "mpi4py"));
  if (inputs.smddprun) result.rank.argv.insert(result.rank.argv.begin(), "smddprun");
  const Env variables = fabric_variables(inputs, custom);
  for (const auto& [name, value] : variables) result.rank.env[name] = value;
  set_interfaces(result.rank.env, inputs, options, custom);
  if (result.launcher_command) {
    const Env env = launcher_environment(result.rank.env);
    const CustomOptions words = line_options(inputs, options, custom);
    const MpiLine line{inputs, options, words, result.ranks_total, variables, env};
    result.launcher_command = Command{open_mpi_line(line), env, options.code_dir};
  }
  return result;
}

}  // namespace muster::launch
