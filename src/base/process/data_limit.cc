#include "base/process/data_limit.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <utility>

namespace muster {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

constexpr std::size_t stack_bytes = std::size_t{8} << 20;  ///< A thread's, as a rule.

rlimit limit_before{};
bool is_limited = false;
std::string words_at_limit;  ///< Made in advance: at the limit there is no memory for them.

[[noreturn]] void give_up() {
  while (::write(STDERR_FILENO, words_at_limit.data(), words_at_limit.size()) < 0 && errno == EINTR)
    continue;
  ::_exit(ENOMEM);
}

/// Before the process aborts, for whatever check: whether the reason is that nothing more can be
/// allocated, a thread's stack or what a C library asks malloc() for. If not, the signal ends the
/// process all the same, also one that another process sent.
void look_at_abort(int number) {
  void* const stack = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) give_up();
  std::signal(number, SIG_DFL);
  std::raise(number);  // Arrives when this returns.
}

}  // namespace

void limit_data(std::int64_t bytes, std::string last_words) {
  rlimit limit{};
  if (is_sanitized || ::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  const rlimit before = limit;
  limit.rlim_cur = std::min(limit.rlim_cur, static_cast<rlim_t>(bytes));
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit_before = before;
  is_limited = true;
  words_at_limit = std::move(last_words);
  std::set_new_handler(give_up);
  std::signal(SIGABRT, look_at_abort);
}

void restore_data_limit() {
  if (is_limited) ::setrlimit(RLIMIT_DATA, &limit_before);
}

}  // namespace muster
