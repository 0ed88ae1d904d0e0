#include "os/supervise/failure_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

namespace muster::supervise {
namespace {

constexpr std::size_t bytes_max = 4096;

}  // namespace

std::string failure_text(const std::string& ml_folder) {
  const Fd output(
      ::open((ml_folder + "/output").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!output) return {};
  const Fd file(::openat(output.get(), "failure", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return {};
  std::string text(bytes_max, '\0');
  const ssize_t count = ::read(file.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return to_utf8(trim(text));
}

std::string program_name(const Args& entrypoint) {
  if (entrypoint.empty()) return {};
  return to_utf8(entrypoint[0].substr(entrypoint[0].rfind('/') + 1));
}

}  // namespace muster::supervise
