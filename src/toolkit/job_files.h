#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "job/training.h"
#include "launch/plan.h"

namespace muster::toolkit {

/// The job as this host's /opt/ml (SAGEMAKER_BASE_DIR) tells it. Errors name file and place; a
/// missing file is one.
Result<job::Training> read_training(const Env& env);

/// What this host runs. The user's environment is `env` without MUSTER_*, the SM_* variables, the
/// code folder first on PYTHONPATH, and PYTHONUNBUFFERED=1 unless set (a killed rank loses the
/// last words that sit in its buffer).
Result<launch::HostPlan> read_plan(const job::Training& training, const Env& env);

}  // namespace muster::toolkit
