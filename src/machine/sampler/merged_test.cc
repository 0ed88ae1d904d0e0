#include "machine/sampler/merged.h"

#include <doctest/doctest.h>

namespace muster::sampler {
namespace {

using Calls = std::vector<job::StackFrame>;

constexpr const char* python = "/lib/libpython3.11.so";
const job::StackFrame loop{"_PyEval_EvalFrameDefault", python};
const job::StackFrame glue{"PyObject_Vectorcall", python};

TEST_CASE("merged: each of the interpreter's loops is a call of Python's where there are as many") {
  const Calls told =
      merged_calls({{"callback", "a.py", 3}, {"<module>", "a.py", 9}}, {{"read", "libc.so.6"},
                                                                        loop,
                                                                        glue,
                                                                        {"sort", "fast.so"},
                                                                        glue,
                                                                        loop,
                                                                        glue,
                                                                        {"main", "python"}});
  CHECK(told == Calls{{"read", "libc.so.6"},
                      {"callback", "a.py", 3},
                      {"sort", "fast.so"},
                      {"<module>", "a.py", 9}});
}

TEST_CASE("merged: Python's calls are shown together if one loop runs several of them") {
  const Calls python_calls = {{"c", "a.py", 1}, {"b", "a.py", 2}, {"a", "a.py", 3}};
  const Calls told = merged_calls(
      python_calls, {{"MPI_Barrier", "libmpi.so"}, glue, loop, {"sort", "fast.so"}, loop, glue});
  CHECK(told == Calls{{"MPI_Barrier", "libmpi.so"},
                      glue,
                      {"c", "a.py", 1},
                      {"b", "a.py", 2},
                      {"a", "a.py", 3}});
}

TEST_CASE("merged: without the interpreter's loop, only Python's calls are shown") {
  const Calls python_calls = {{"a", "a.py", 3}};
  CHECK(merged_calls(python_calls, {{"read", "libc.so.6"}}) == python_calls);
  CHECK(merged_calls({}, {}) == Calls{});
  CHECK(!has_python_loop({{"read", "libc.so.6"}}));
  CHECK(has_python_loop({loop}));
}

}  // namespace
}  // namespace muster::sampler
