#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace muster {

std::string errno_text(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

Error fail_errno(const std::string& what) {
  const int number = errno;
  Errc code = Errc::system;
  if (number == ENOENT || number == ENOTDIR || number == ESRCH) code = Errc::not_found;
  if (number == EACCES || number == EPERM) code = Errc::denied;
  if (number == ETIMEDOUT) code = Errc::timeout;
  if (number == EPIPE || number == ECONNRESET) code = Errc::closed;
  return fail(code, what + ": " + std::strerror(number));
}

void check_failed(const char* file, int line, const char* condition, const char* text) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s: %s\n", file, line, condition, text);
  std::abort();
}

}  // namespace muster
