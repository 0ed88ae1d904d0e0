#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

/// A room's tests may define it, to run this program as another one: what that one exits with, or
/// -1 if the arguments are doctest's.
__attribute__((weak)) int run_as_other_program(int /*argc*/, char** /*argv*/) {
  return -1;
}

int main(int argc, char** argv) {
  if (const int code = run_as_other_program(argc, argv); code >= 0) return code;
  // Tests fork. Where a sanitizer flushes at the child's end, the child would repeat what is
  // buffered here, into pipes that a test reads.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return doctest::Context(argc, argv).run();
}
