#include "server/jobs/remote_function.h"

#include <algorithm>

#include "base/text.h"

namespace muster::jobs {
namespace {

constexpr const char* channel_name = "sagemaker_remote_function_bootstrap";
constexpr const char* script_path =
    "/opt/ml/input/data/sagemaker_remote_function_bootstrap/job_driver.sh";
constexpr std::string_view module_mark = "python -m mpi4py -m ";
constexpr std::string_view module_letters = "abcdefghijklmnopqrstuvwxyz0123456789_.";

// Like the SDK's script, with `sm mpirun` on every host instead of sshd, waiting by paramiko, and
// mpirun on the first host.
constexpr const char* before_module = R"(set -eu
python /opt/ml/input/data/sagemaker_remote_function_bootstrap/bootstrap_runtime_environment.py "$@"
. /opt/ml/input/sm_training.env
if [ -f remote_function_conda_env.txt ]; then
  echo "use_mpirun: muster starts ranks in no conda environment: put the packages into the image's \
Python; or \`native_drivers\` in the server's config runs the SDK's script as it is" |
    tee /opt/ml/output/failure >&2
  exit 1
fi
if [ -d sagemaker_remote_function_workspace ]; then cd sagemaker_remote_function_workspace; fi
exec sm mpirun --process_per_hosts "$SM_NPROC_PER_NODE" python -m mpi4py -m )";

/// The word after `name` in the job's arguments; empty if there is none.
std::string argument(const job::Spec& spec, const char* name) {
  const auto found = std::find(spec.arguments.begin(), spec.arguments.end(), name);
  if (found == spec.arguments.end() || found + 1 == spec.arguments.end()) return {};
  return *(found + 1);
}

}  // namespace

std::string function_url(const job::Spec& spec) {
  if (spec.entrypoint != Args{"/bin/bash", script_path}) return {};
  return argument(spec, "--s3_base_uri");
}

std::string mpirun_script_url(const job::Spec& spec) {
  if (function_url(spec).empty() || argument(spec, "--distribution") != "mpirun") return {};
  for (const job::InputChannel& channel : spec.input)
    if (channel.name == channel_name) return channel.s3.url + "/job_driver.sh";
  return {};
}

bool take_over_mpirun(job::Spec& spec, std::string_view script) {
  const std::size_t mark = script.find(module_mark);
  if (mark == std::string_view::npos) return false;
  script.remove_prefix(mark + module_mark.size());
  const std::string_view module = script.substr(0, script.find_first_not_of(module_letters));
  if (module.empty()) return false;
  spec.entrypoint = {"/bin/bash"};
  // bash uses the word after the text as its own name.
  const std::string text = before_module + std::string(module) + " \"$@\"\n";
  spec.arguments.insert(spec.arguments.begin(), {"-c", text, "job_driver.sh"});
  return true;
}

}  // namespace muster::jobs
