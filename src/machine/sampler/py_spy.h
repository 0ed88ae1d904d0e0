#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/wire/stacks.h"

namespace muster::sampler {

struct PythonThread {
  std::int64_t number = 0;  ///< The number in its process's namespace; 0: unknown.
  job::ThreadStack stack;   ///< `runs` as py-spy guesses, which reads no more than memory.
};

/// The threads in the output of `py-spy dump --json`, the first one first. Pure. Error: `protocol`.
Result<std::vector<PythonThread>> threads_from(std::string_view json);

}  // namespace muster::sampler
