#include "image/memory_limit.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <new>

#include "base/fd.h"

using namespace muster;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

constexpr std::size_t gib = std::size_t{1} << 30;

struct End {
  int code = -1;
  std::string said;
};

/// In a child: limits and handlers are the process's.
End in_child(const std::function<int()>& work) {
  Pipe said = *make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(said.write.get(), STDERR_FILENO);
    ::_exit(work());
  }
  said.write.reset();
  int status = 0;
  ::waitpid(pid, &status, 0);
  End end{WIFEXITED(status) ? WEXITSTATUS(status) : -1, std::string(200, '\0')};
  const ssize_t count = ::read(said.read.get(), end.said.data(), end.said.size());
  end.said.resize(static_cast<std::size_t>(count));
  return end;
}

/// Addresses alone: nothing is written there.
bool has_room_for(std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at != MAP_FAILED) ::munmap(at, bytes);
  return at != MAP_FAILED;
}

}  // namespace

TEST_CASE("memory limit: unpacking that needs more than 4 GiB ends with one line") {
  const End end = in_child([] {
    const image::MemoryLimit limit;
    static_cast<void>(::operator new(5 * gib));
    return 0;
  });
  CHECK(end.code == 3);
  CHECK(end.said == "sm: unpacking the image takes more than 4 GiB of memory\n");
}

TEST_CASE("memory limit: it counts what is added, holds for memory of any kind, and goes again") {
  const End end = in_child([] {
    void* const before =
        ::mmap(nullptr, 8 * gib, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (before == MAP_FAILED) return 1;
    {
      const image::MemoryLimit limit;
      if (!has_room_for(3 * gib)) return 2;
      if (has_room_for(5 * gib)) return 3;
      const pid_t child = ::fork();
      if (child == 0) ::_exit(has_room_for(5 * gib) ? 1 : 0);
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) return 4;
    }
    return has_room_for(5 * gib) ? 0 : 5;
  });
  CHECK(end.code == 0);
  CHECK(end.said.empty());
}
#endif
