#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

int main(int argc, char** argv) {
  // Tests fork. Where a sanitizer flushes at the child's end, the child would repeat what is
  // buffered here, into pipes that a test reads.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return doctest::Context(argc, argv).run();
}
