#pragma once

#include <string>
#include <string_view>

#include "base/command.h"
#include "job/training/training.h"

namespace muster::env {

/// The training environment as `form` prints it: "--properties", "--to-env-vars", "--to-cmd-args",
/// "--json", "--shell"; any other prints NAME=value lines. Pure.
std::string environment_text(const job::Training& training, std::string_view form);

/// `sm env [--json | --shell]`: prints the training environment of the job in /opt/ml.
int env_main(const Args& args, const Env& env);

}  // namespace muster::env
