#pragma once

#include <string>

#include "base/command.h"

namespace muster::operators {

// The operators: commands that every host of a job runs in the same way, and that run one
// distributed program across all hosts. Exit status: the program's; 128 + its signal; 1 if it could
// not be run; 2 for wrong usage. Source: docs/protocols/operators.md.

int mpirun_main(const Args& args, const Env& env);
/// `sm preflight`: compares a job's hosts and measures their links, without running a program.
int preflight_main(const Args& args, const Env& env);
/// `sm WORD ARGS` for the operators of the launchers' table (job/launch/launchers.h): all others.
int operator_main(const std::string& word, const Args& args, const Env& env);
/// True if the table has an operator with this name, or with this first word ("tf").
bool is_operator(const std::string& word);

}  // namespace muster::operators
