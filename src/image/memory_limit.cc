#include "image/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"

namespace muster::image {
namespace {

constexpr rlim_t growth_max = 4ull << 30;
constexpr std::size_t statm_bytes_max = 4096;
constexpr int exit_code = 3;  ///< The platform's fault: docs/protocols/exit-codes.md.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

/// What this process has of addresses now; none where /proc is missing.
std::optional<rlim_t> address_bytes() {
  const Result<std::string> text = read_file("/proc/self/statm", statm_bytes_max);
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> pages = parse_integer(text->substr(0, text->find(' ')));
  if (!pages) return std::nullopt;
  return static_cast<rlim_t>(*pages) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

[[noreturn]] void give_up() {
  constexpr std::string_view text = "sm: unpacking the image takes more than 4 GiB of memory\n";
  while (::write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EINTR) continue;
  ::_exit(exit_code);
}

}  // namespace

MemoryLimit::MemoryLimit() {
  const std::optional<rlim_t> now = address_bytes();
  if (is_sanitized || !now || ::getrlimit(RLIMIT_AS, &before_) != 0) return;
  const rlimit limit{std::min(before_.rlim_cur, *now + growth_max), before_.rlim_max};
  is_set_ = ::setrlimit(RLIMIT_AS, &limit) == 0;
  if (is_set_) handler_before_ = std::set_new_handler(give_up);
}

MemoryLimit::~MemoryLimit() {
  if (!is_set_) return;
  ::setrlimit(RLIMIT_AS, &before_);
  std::set_new_handler(handler_before_);
}

}  // namespace muster::image
