#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "job/training/training.h"

namespace muster::env {

/// The job as described in this host's /opt/ml (SAGEMAKER_BASE_DIR). Errors name file and place; a
/// missing file is an error, unless `given` replaces it.
Result<job::Training> read_training(const Env& env, const job::GivenConfig& given = {});

/// Reads the files for an operator, which may run in a container without job files. Missing files
/// get defaults: without any, the job has one host, this one.
Result<job::Training> read_site(const Env& env);

}  // namespace muster::env
