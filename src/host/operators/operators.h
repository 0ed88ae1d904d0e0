#pragma once

#include <string>

#include "base/command.h"

namespace muster::operators {

// The operators: commands that every host of a job runs alike, and that run one distributed program
// over all of them. Exit status: the program's; 128 + its signal; 1 if it could not be run; 2 for
// wrong usage. Source: docs/protocols/operators.md.

int mpirun_main(const Args& args, const Env& env);
/// `sm preflight`: the hosts of a job compare and measure themselves, and nothing is run.
int preflight_main(const Args& args, const Env& env);
/// `sm WORD ARGS` for the operators of the launchers' table (job/launch/launchers.h): all others.
int operator_main(const std::string& word, const Args& args, const Env& env);
/// True if the table has an operator of this name, or some below it ("tf").
bool is_operator(const std::string& word);

}  // namespace muster::operators
