#pragma once

#include "base/command.h"

namespace muster::operators {

/// `sm toolkit run`: runs an entry point of the code folder according to a job's hyperparameters or
/// its own flags, for the Python packages' entry_point.run(). Exit status: the program's.
int run_main(const Args& args, const Env& env);

}  // namespace muster::operators
