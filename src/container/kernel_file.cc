#include "container/kernel_file.h"

#include <fcntl.h>

#include "base/fd.h"

namespace muster::container {

Result<void> tell_kernel(const std::string& path, const std::string& text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail_errno("cannot open " + path);
  const Result<void> written = write_all(fd.get(), text);
  if (!written) return written.error().in(path);
  return {};
}

}  // namespace muster::container
