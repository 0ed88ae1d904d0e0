#pragma once

#include "base/command.h"

namespace muster::env {

/// `sm env [--json | --shell]`: prints the training environment of the job in /opt/ml.
int env_main(const Args& args, const Env& env);

}  // namespace muster::env
