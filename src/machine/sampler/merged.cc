#include "machine/sampler/merged.h"

#include <algorithm>
#include <string_view>

namespace muster::sampler {
namespace {

bool is_python_loop(const job::StackFrame& call) {
  const std::string_view name = call.function;
  // Python 3.6 and newer; the last is of an interpreter whose instructions are functions (3.14).
  return name == "_PyEval_EvalFrameDefault" || name == "PyEval_EvalFrameEx" ||
         name.starts_with("_TAIL_CALL_");
}

}  // namespace

bool has_python_loop(const std::vector<job::StackFrame>& native) {
  return std::any_of(native.begin(), native.end(), is_python_loop);
}

std::vector<job::StackFrame> merged_calls(const std::vector<job::StackFrame>& python,
                                          const std::vector<job::StackFrame>& native) {
  const auto first = std::find_if(native.begin(), native.end(), is_python_loop);
  if (first == native.end()) return python;
  std::vector<job::StackFrame> calls(native.begin(), first);
  const auto loops = std::count_if(first, native.end(), is_python_loop);
  if (static_cast<std::size_t>(loops) != python.size()) {
    calls.insert(calls.end(), python.begin(), python.end());
    return calls;
  }
  auto next = python.begin();
  for (auto at = first; next != python.end(); ++at) {
    if (is_python_loop(*at))
      calls.push_back(*next++);
    else if (at->file != first->file)
      calls.push_back(*at);
  }
  return calls;
}

}  // namespace muster::sampler
