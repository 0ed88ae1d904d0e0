#include "base/process/oom_score.h"

#include <fcntl.h>

#include "base/fd.h"

namespace muster {

void outlive_others() {
  const Fd fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (fd) static_cast<void>(write_all(fd.get(), "-500"));
}

}  // namespace muster
