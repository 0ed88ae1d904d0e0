#include "host/env/job_files.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/variables.h"
#include "host/env/base_dir.h"
#include "host/env/place.h"
#include "host/env/usable_cpus.h"
#include "os/devices/accelerators.h"
#include "os/supervise/spawn.h"

namespace muster::env {
namespace {

/// One of the files that the platform gives every container.
Result<std::string> read_config(const std::string& path, const std::string& expected) {
  Result<std::string> text = read_file(path);
  if (text || text.error().code != Errc::not_found) return text;
  return fail(Errc::not_found, text.error().text + "; expected " + expected +
                                   " (to use a folder other than /opt/ml, set SAGEMAKER_BASE_DIR)");
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool installed(const std::string& program, const Env& env) {
  return supervise::find_program(program, env, "").has_value();
}

/// The number of processors that this host may use, or fewer with `sm fit --cpus`, which control
/// groups version 1 do not show. Otherwise programs that start a thread per processor would start
/// too many.
int count_cpus(const Env& env) {
  const int usable = usable_cpus();
  const std::optional<std::int64_t> limit = parse_integer(value_of(env, "MUSTER_NUM_CPUS"));
  return limit && *limit >= 1 && *limit < usable ? static_cast<int>(*limit) : usable;
}

job::Facts facts_of(const Env& env) {
  job::Facts facts;
  facts.base_dir = base_dir(env);
  facts.host_name = host_name();
  facts.num_cpus = count_cpus(env);
  facts.num_gpus = count_gpus(env);
  facts.num_neurons = count_neurons(env);
  facts.smddprun_installed = installed("smddprun", env);
  facts.smddpmprun_installed = installed("smddpmprun", env);
  facts.env = env;
  return facts;
}

/// One of those files, if it exists.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (text) return std::optional<std::string>(*std::move(text));
  if (text.error().code == Errc::not_found) return std::optional<std::string>();
  return text.error();
}

/// The hosts that placed() found; empty if a platform's file lists them.
job::PyValue placed_hosts(const Env& env) {
  const std::string own = value_of(env, "MUSTER_HOST");
  if (own.empty()) return {};
  job::PyValue config = job::PyValue::new_dict();
  config.set("current_host", job::PyValue::of_text(own));
  config.set("hosts", job::PyValue::of_list(split(value_of(env, "MUSTER_HOSTS"), ',')));
  const std::string interface = value_of(env, "MUSTER_INTERFACE");
  if (!interface.empty()) config.set("network_interface_name", job::PyValue::of_text(interface));
  return config;
}

/// The content of the job's files that exist.
Result<job::Training> read_what_is_there(job::Facts facts, const job::GivenConfig& given) {
  const std::string config = facts.base_dir + "/input/config/";
  job::ConfigFiles files;
  files.resource_config = TRY(read_if_there(config + "resourceconfig.json"));
  files.hyperparameters = TRY(read_if_there(config + "hyperparameters.json"));
  files.input_data_config = TRY(read_if_there(config + "inputdataconfig.json"));
  return job::training_from(files, std::move(facts), given);
}

}  // namespace

Result<job::Training> read_training(const Env& own_env, const job::GivenConfig& told) {
  const Env env = TRY(placed(own_env));
  job::Facts facts = facts_of(env);
  job::GivenConfig given = told;
  const job::PyValue hosts = placed_hosts(env);
  if (!given.resource_config.truthy()) given.resource_config = hosts;
  if (hosts.truthy()) return read_what_is_there(std::move(facts), given);
  const std::string config = facts.base_dir + "/input/config/";
  job::ConfigFiles files;
  if (!given.resource_config.truthy())
    files.resource_config =
        TRY(read_config(config + "resourceconfig.json", "a JSON object with the job's hosts"));
  if (!given.hyperparameters.truthy())
    files.hyperparameters =
        TRY(read_config(config + "hyperparameters.json", "a JSON object, {} for none"));
  if (!given.input_data_config.truthy())
    files.input_data_config =
        TRY(read_config(config + "inputdataconfig.json", "the job's channels, {} for none"));
  return job::training_from(files, std::move(facts), given);
}

Result<job::Training> read_site(const Env& own_env) {
  const Env env = TRY(placed(own_env));
  job::GivenConfig given;
  given.resource_config = placed_hosts(env);
  return read_what_is_there(facts_of(env), given);
}

}  // namespace muster::env
