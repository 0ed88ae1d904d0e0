#pragma once

#include <vector>

#include "job/wire/stacks.h"

namespace muster::sampler {

/// A thread's calls, Python's and native ones, the innermost first. Each native call of the
/// interpreter's loop is replaced by one of Python's if there are equally many. Otherwise, because
/// one loop may run many (from Python 3.11 on), all of Python's calls replace all between the first
/// and the last of them. Calls outside of these, and the interpreter's own between them, are left
/// out. Without any call of the loop, only Python's are returned.
///
/// Pure: no I/O.
std::vector<job::StackFrame> merged_calls(const std::vector<job::StackFrame>& python,
                                          const std::vector<job::StackFrame>& native);

/// True if one of these native calls is the interpreter's loop.
bool has_python_loop(const std::vector<job::StackFrame>& native);

}  // namespace muster::sampler
