#pragma once

#include <string>

#include "base/command.h"

namespace muster::env {

/// A variable's value; `otherwise` where it is not set. Pure.
std::string value_of(const Env& env, const std::string& name, const std::string& otherwise = {});

/// The folder of the job's files: /opt/ml, or where SAGEMAKER_BASE_DIR moves it. Pure.
std::string base_dir(const Env& env);

}  // namespace muster::env
