#pragma once

#include "base/command.h"

namespace muster::operators {

// The operators: commands that every host of a job runs alike, and that run one distributed program
// over all of them. Exit status: the program's; 128 + its signal; 1 if it could not be run; 2 for
// wrong usage. Source: docs/protocols/operators.md.

int mpirun_main(const Args& args, const Env& env);
int run_on_hosts_main(const Args& args, const Env& env);
int torchrun_main(const Args& args, const Env& env);
int tf_main(const Args& args, const Env& env);
int mxnet_main(const Args& args, const Env& env);

}  // namespace muster::operators
