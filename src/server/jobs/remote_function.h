#pragma once

#include <string>
#include <string_view>

#include "job/spec.h"

namespace muster::jobs {

// SageMaker's SDKs 2 and 3 run a function of the user's as a job (`@remote`, RemoteExecutor, a
// pipeline's `@step`). A script of theirs, job_driver.sh, installs what the function needs and
// starts `python -m sagemaker….invoke_function`, which brings the function from S3 and stores what
// it returns. It runs as it is, alone or under torchrun; by mpirun it wants paramiko, sshd and keys
// in the image, and there `sm mpirun` does that work.
//
// Pure. Source: sagemaker 2.257.7, remote_function/job.py and runtime_environment/; 3.27.0's
// sagemaker.core.remote_function is alike but for the module's name.

/// The folder of the job's function, arguments and results, "s3://bucket/…"; empty if the job does
/// not run a function.
std::string function_url(const job::Spec& spec);

/// Where the script lies that starts the job's function by mpirun, "s3://bucket/…/job_driver.sh";
/// empty where it runs alone or under torchrun.
std::string mpirun_script_url(const job::Spec& spec);

/// Puts `sm mpirun` in place of `script`, the text behind mpirun_script_url(). False, and `spec` is
/// as it was, if the text does not say which module starts the function.
bool take_over_mpirun(job::Spec& spec, std::string_view script);

}  // namespace muster::jobs
