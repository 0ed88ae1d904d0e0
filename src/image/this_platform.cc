#include "image/this_platform.h"

#include <sys/utsname.h>

namespace muster::image {

Platform this_platform() {
  utsname machine{};
  CHECK_THAT(::uname(&machine) == 0, "uname tells the machine");
  return platform_of(machine.machine);
}

}  // namespace muster::image
