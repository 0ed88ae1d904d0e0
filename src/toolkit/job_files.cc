#include "toolkit/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "supervise/spawn.h"
#include "toolkit/options.h"

namespace muster::toolkit {
namespace {

std::string value_or(const Env& env, const std::string& name, const std::string& standard) {
  const Env::const_iterator found = env.find(name);
  return found == env.end() ? standard : found->second;
}

/// One of the files that the platform gives every container.
Result<std::string> read_config(const std::string& path, const std::string& expected) {
  Result<std::string> text = read_file(path);
  if (text || text.error().code != Errc::not_found) return text;
  return fail(Errc::not_found,
              text.error().text + "; expected " + expected + " (SAGEMAKER_BASE_DIR moves /opt/ml)");
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// GPUs that this container can open: /dev/nvidia0, /dev/nvidia1, ... It is what `nvidia-smi
/// --list-gpus`, which the reference runs, counts too, without half a second of start.
int count_gpus() {
  const std::unique_ptr<DIR, CloseDir> dev(::opendir("/dev"));
  int count = 0;
  while (const dirent* entry = dev ? ::readdir(dev.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("nvidia") && parse_integer(name.substr(6))) ++count;
  }
  return count;
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool installed(const std::string& program, const Env& env) {
  return supervise::find_program(program, env, "").has_value();
}

/// The first line of a file, at most 256 bytes of it; empty if it cannot be read.
std::string first_line(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[256];
  const ssize_t count = fd ? ::read(fd.get(), buffer, sizeof(buffer)) : 0;
  const std::string_view text(buffer, count > 0 ? static_cast<std::size_t>(count) : 0);
  return std::string(text.substr(0, text.find('\n')));
}

/// The program that ranks are started by: `sm` beside this one, or this one itself.
Result<std::string> rank_program() {
  const std::string own = TRY(own_program());
  const std::string beside = own.substr(0, own.rfind('/') + 1) + "sm";
  return ::access(beside.c_str(), X_OK) == 0 ? beside : own;
}

}  // namespace

Result<job::Training> read_training(const Env& env) {
  job::Facts facts;
  facts.base_dir = value_or(env, "SAGEMAKER_BASE_DIR", "/opt/ml");
  facts.host_name = host_name();
  facts.num_cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  facts.num_gpus = count_gpus();
  facts.smddprun_installed = installed("smddprun", env);
  facts.smddpmprun_installed = installed("smddpmprun", env);
  facts.env = env;
  const std::string config = facts.base_dir + "/input/config/";
  job::ConfigFiles files;
  files.resource_config =
      TRY(read_config(config + "resourceconfig.json", "the job's hosts, a JSON object"));
  files.hyperparameters =
      TRY(read_config(config + "hyperparameters.json", "a JSON object, {} for none"));
  files.input_data_config =
      TRY(read_config(config + "inputdataconfig.json", "the job's channels, {} for none"));
  return job::training_from(files, std::move(facts));
}

Result<launch::HostPlan> read_plan(const job::Training& training, const Env& env) {
  TRY(job::check_entry_point(training.user_entry_point));
  const std::string entry = training.code_dir() + "/" + training.user_entry_point;
  launch::Options options;
  options.python = installed("python3", env) ? "python3" : "python";
  options.sm = TRY(rank_program());
  options.agent = options.sm;  // Told apart by MUSTER_AGENT: mpirun's agent is one word.
  options.code_dir = training.code_dir();
  options.has_setup_py = ::access((options.code_dir + "/setup.py").c_str(), F_OK) == 0;
  options.entry_exists = ::access(entry.c_str(), F_OK) == 0;
  options.entry_executable = ::access(entry.c_str(), X_OK) == 0;
  options.entry_first_line = first_line(entry);
  options.env = user_environment(env);
  options.env.try_emplace("PYTHONUNBUFFERED", "1");
  std::string& path = options.env["PYTHONPATH"];
  path = options.code_dir + (path.empty() ? "" : ":" + path);
  return launch::plan(training, options);
}

}  // namespace muster::toolkit
