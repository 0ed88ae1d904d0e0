#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "job/ml_paths.h"
#include "job/outcome/outcome.h"
#include "job/training/python_json.h"

namespace muster::job {

/// The texts of `<base>/input/config/*.json`; none where the file does not exist.
struct ConfigFiles {
  std::optional<std::string> hyperparameters;
  std::optional<std::string> resource_config;
  std::optional<std::string> input_data_config;
};

/// Contents given in place of files, decoded already: what the reference's
/// `Environment(resource_config, input_data_config, hyperparameters)` takes. One that is not there,
/// or that Python takes for false, leaves its file in force.
struct GivenConfig {
  PyValue hyperparameters;
  PyValue resource_config;
  PyValue input_data_config;
};

/// From the JSON text of one object with these members, each optional. Error: `invalid_input`.
Result<GivenConfig> given_config(const std::string& text);

/// Where rank 0 of PyTorch waits for the others. Source: sagemaker-training, torch_distributed.py;
/// the drivers that SageMaker's SDK sends ask for it, too.
inline constexpr const char* master_port = "7777";

/// What the machine and the process know of themselves.
struct Facts {
  std::string base_dir = ml_path;
  std::string host_name;  ///< The machine's; the only host where no resourceconfig.json says more.
  int num_cpus = 1;
  int num_gpus = 0;
  int num_neurons = 0;
  bool smddprun_installed = false;
  bool smddpmprun_installed = false;
  Env env;  ///< The process's: SAGEMAKER_PROGRAM, TRAINING_JOB_NAME and the like are read from it.
};

/// One training job as one of its hosts sees it. Field by field what `Environment` of
/// sagemaker-training 5.1.4 holds.
struct Training {
  Facts facts;
  std::string job_name;            ///< TRAINING_JOB_NAME; empty if unset.
  std::vector<std::string> hosts;  ///< As the file lists them; unique, not empty.
  std::string current_host;        ///< One of `hosts`.
  std::string leader;              ///< The reference's master_hostname.
  std::string instance_type;       ///< "local" if the file says none.
  std::string instance_group;      ///< The own host's; "homogeneousCluster" if none.
  std::vector<std::string> instance_group_hosts;
  std::vector<std::string> instance_groups;
  std::vector<std::string> distribution_hosts;  ///< Where a launcher runs; the first one leads.
  bool groups_apart = false;  ///< No group is named for the distribution: each has its own.
  PyValue distribution_instance_groups;
  PyValue instance_groups_dict;
  std::string interface;  ///< Network interface of the job, "eth0" if none is said.
  PyValue topology;
  PyValue hyperparameters;       ///< The user's: a dict of decoded values.
  PyValue framework_parameters;  ///< sagemaker_* beyond those that are read below.
  PyValue resource_config;
  PyValue input_data_config;
  std::vector<std::string> channels;  ///< As the file lists them.
  std::string user_entry_point;       ///< sagemaker_program; empty if the job names none.
  PyValue entry_point_value;          ///< As it was given: null, text or even a number.
  std::string module_name;
  std::string module_dir;  ///< Where the code comes from: a folder or a URI.
  PyValue log_level;
  std::optional<std::string> framework_module;  ///< SAGEMAKER_TRAINING_MODULE.
  std::string region;
  std::string declared_job_name;  ///< sagemaker_job_name.
  std::string s3_output;          ///< sagemaker_s3_output; empty if the job names none.
  Args script_args;  ///< MUSTER_SCRIPT_ARGS, a JSON list: they follow those of hyperparameters.

  std::string code_dir() const { return facts.base_dir + "/code"; }
  bool is_leader() const { return current_host == leader; }
  /// Who gathers at the leader.
  const std::vector<std::string>& roll_call_hosts() const {
    return groups_apart ? distribution_hosts : hosts;
  }
};

/// Reads a job. Missing files mean defaults, so that images that bring no SageMaker files run too:
/// no hyperparameters, no channels, one host. Errors: `invalid_input` with file, place and what was
/// expected.
Result<Training> training_from(const ConfigFiles& files, Facts facts,
                               const GivenConfig& given = {});

/// Every property of the reference's `Environment`, in the order in which `dict(Environment())` has
/// them, which is that of their names.
PyValue properties(const Training& training);

/// `Environment.to_env_vars()`: the variables SM_*.
Env to_env_vars(const Training& training);

/// `Environment.to_cmd_args()`, then `script_args`: also texts that no argument can carry.
Args to_cmd_args(const Training& training);

/// The names that some variables had before they began with SM_ (SAGEMAKER_CHANNELS, MODEL_DIR …).
/// Source: the usage example of sagemaker-training's README, which is older than 5.1.4.
Env elder_variables(const Training& training);

/// Every SM_* variable, those without prefix that the reference sets for the script
/// (CURRENT_HOST, SAGEMAKER_JOB_NAME, SAGEMAKER_REGION), and elder_variables().
Env sm_variables(const Training& training);

/// The script's arguments: `to_cmd_args`, sorted by name, `--name value`, `-n value` for one
/// letter. Error: `invalid_input` for text that no argument can carry (NUL, lone surrogate).
Result<Args> user_args(const Training& training);

/// Hyperparameters that start a program on several hosts: one that is true makes the hosts of the
/// instance group that it is given for hosts of the distribution. Source: sagemaker-training 5.1.4,
/// environment.py.
const std::vector<std::string_view>& distribution_parameters();
/// A true hyperparameter that asks for a launcher, on a host of the distribution.
bool asks_for(const Training& training, std::string_view hyperparameter);
/// sagemaker_mpi_enabled, on a host of the distribution.
bool mpi_enabled(const Training& training);
/// sagemaker_mpi_num_of_processes_per_host, else GPUs, else neuron cores, else 1. Error:
/// `invalid_input` for a value that is not a whole number >= 1.
Result<int> processes_per_host(const Training& training);
/// sagemaker_mpi_num_processes. Error as above.
Result<std::optional<int>> num_processes(const Training& training);
/// A framework parameter that holds options for mpirun. Error: `invalid_input` if it is not text.
Result<std::string> custom_mpi_options(const Training& training,
                                       std::string_view name = "sagemaker_mpi_custom_mpi_options");

/// A plain relative path inside the code folder, as the reference demands. Error: `invalid_input`.
Result<void> check_entry_point(const std::string& name);

/// The text of output/failure. Source: errors.py; docs/protocols/outcome.md.
std::string failure_text(const Verdict& verdict);
/// The failure's text where not even the job could be read: its files are missing or wrong. The
/// reference has a traceback there, and exits with the error's number.
std::string framework_failure_text(const std::string& line);
int framework_exit_code(const Error& error);

/// "NAME=value" lines; lines that a POSIX shell reads; one JSON object. Sorted by name.
std::string env_text(const Env& env);
std::string env_shell(const Env& env);
std::string env_json(const Env& env);

}  // namespace muster::job
