#include "container/python_packages.h"

// The archive, which CMake creates before it compiles this file.
__asm__(
    ".pushsection .rodata\n"
    "muster_python_packages_begin:\n"
    ".incbin \"" MUSTER_PYTHON_PACKAGES
    "\"\n"
    "muster_python_packages_end:\n"
    ".popsection\n");

extern "C" {
extern const char muster_python_packages_begin[] __attribute__((visibility("hidden")));
extern const char muster_python_packages_end[] __attribute__((visibility("hidden")));
}

namespace muster::container {

std::string_view python_packages() {
  return {muster_python_packages_begin, muster_python_packages_end};
}

}  // namespace muster::container
