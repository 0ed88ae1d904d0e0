#pragma once

#include <string>
#include <string_view>

#include "job/spec.h"

namespace muster::jobs {

// SageMaker's SDKs 2 and 3 can run a user's function as a job (`@remote`, RemoteExecutor, a
// pipeline's `@step`). The SDK's script, job_driver.sh, installs the function's requirements and
// starts `python -m sagemaker….invoke_function`, which downloads the function from S3 and stores
// its result. On its own or under torchrun, the script runs unchanged. With mpirun it requires
// paramiko, sshd and keys in the image; muster replaces that part with `sm mpirun`.
//
// Pure. Source: sagemaker 2.257.7, remote_function/job.py and runtime_environment/; 3.27.0's
// sagemaker.core.remote_function is alike but for the module's name.

/// The folder of the job's function, arguments and results, "s3://bucket/…"; empty if the job does
/// not run a function.
std::string function_url(const job::Spec& spec);

/// The location of the script that starts the job's function with mpirun,
/// "s3://bucket/…/job_driver.sh"; empty if the function runs on its own or under torchrun.
std::string mpirun_script_url(const job::Spec& spec);

/// Replaces `script`, the text at mpirun_script_url(), with `sm mpirun`. Returns false and leaves
/// `spec` unchanged if the text does not name the module that starts the function.
bool take_over_mpirun(job::Spec& spec, std::string_view script);

}  // namespace muster::jobs
