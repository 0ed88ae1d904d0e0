#pragma once

#include <vector>

#include "job/stacks.h"

namespace muster::sampler {

/// A thread's calls, Python's and native ones, the innermost first. Each call of the interpreter's
/// loop among the native ones stands for one of Python's where there are as many; else, since one
/// may run many (from Python 3.11 on), all of Python's stand for all between the first and the last
/// of them. What is outside of these, and of what is between them the interpreter's own, is left
/// out. Without any such call Python's alone are told.
///
/// Pure: no I/O.
std::vector<job::Call> merged_calls(const std::vector<job::Call>& python,
                                    const std::vector<job::Call>& native);

/// True if one of these native calls is the interpreter's loop.
bool has_python_loop(const std::vector<job::Call>& native);

}  // namespace muster::sampler
