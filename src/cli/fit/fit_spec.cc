#include "cli/fit/fit_spec.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "job/host_spec.h"
#include "job/ml_paths.h"

namespace muster::cli {
Result<job::Spec> fit_spec(const FitOptions& options, const Places& places,
                           const std::optional<platform::Interpreter>& interpreter,
                           const std::string& name, const std::string& path) {
  job::Spec spec;
  spec.name = name;
  spec.instance_count = options.hosts;
  spec.input = places.inputs;
  spec.source_folder = places.source_folder;
  spec.output_folder = places.output;
  spec.bound = places.bound;
  spec.checkpoint_folder = places.checkpoints;
  spec.run_time_max = options.timeout;
  spec.hang_after = std::chrono::duration_cast<std::chrono::seconds>(options.hang_after);
  spec.end_hung = options.end_hung;
  spec.wait_max = std::chrono::duration_cast<std::chrono::seconds>(options.max_wait);
  spec.retries = options.retries;
  spec.spares = options.spares;
  spec.grace = options.grace;
  spec.memory_bytes = options.memory_bytes;
  spec.cpu_millis = options.cpu_millis;
  spec.gpus = options.gpus;
  spec.shm_bytes = options.shm_bytes;
  spec.volume_gib = options.volume_gib;
  spec.network = options.network;
  if (spec.network == job::Network::host) spec.notes.emplace_back(host_network_note);
  spec.pip_conf = places.pip_conf;
  spec.encrypted = options.encrypted;
  spec.path = interpreter ? platform::path_with(*interpreter, path) : path;
  if (interpreter) {
    spec.python = interpreter->program;
    spec.read_only_binds = interpreter->places;
  }

  const auto send = [&](const char* key, const Json& value) {
    spec.hyperparameters[key] = to_text(value);
  };
  for (const auto& [key, value] : encoded(options.hyperparameters))
    spec.hyperparameters[key] = value;
  if (!places.script.empty()) {
    send("sagemaker_program", places.script);
    send("sagemaker_submit_directory", job::code_path);
  }
  send("sagemaker_job_name", name);
  for (const auto& [key, value] : parameters_of(options.launch)) send(key.c_str(), value);

  // What is started and how it ends is ours to say; --verbose shows the lines that a container logs
  // of it, --env MUSTER_TRAINING_LOG=1 with the job's environment.
  if (!options.verbose) spec.environment.insert_or_assign("MUSTER_TRAINING_LOG", std::string("0"));
  if (options.preflight) spec.environment["MUSTER_PREFLIGHT"] = "full";
  if (!options.near_gpus) spec.environment[job::numa_variable] = job::numa_off;
  for (const auto& [key, value] : options.environment) spec.environment[key] = value;
  // docs/protocols/environment.md: `train` appends these to the script's arguments.
  if (places.script.empty())
    spec.arguments = options.arguments;
  else if (!options.arguments.empty())
    spec.environment["MUSTER_SCRIPT_ARGS"] = to_text(Json(options.arguments));
  Result<void> good = job::check(spec);
  if (!good) return good.error();
  return spec;
}

std::string beyond_machine_note(const FitOptions& options, std::int64_t machine_memory_bytes,
                                int machine_processors) {
  std::vector<std::string> beyond;
  if (machine_memory_bytes > 0 && options.memory_bytes > machine_memory_bytes)
    beyond.push_back("--memory exceeds this machine's " +
                     std::to_string(machine_memory_bytes >> 20) + " MiB");
  if (machine_processors > 0 && options.cpu_millis > 1000 * std::int64_t{machine_processors})
    beyond.push_back("--cpus exceeds this machine's " + std::to_string(machine_processors));
  if (beyond.empty()) return {};
  return join(beyond, " and ") + ", so it has no effect";
}

}  // namespace muster::cli
