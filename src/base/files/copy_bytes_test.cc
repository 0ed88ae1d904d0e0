#include "base/files/copy_bytes.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster {
namespace {

constexpr off_t length = off_t{1} << 30;

struct stat status_of(const Fd& file) {
  struct stat status {};
  REQUIRE(::fstat(file.get(), &status) == 0);
  return status;
}

std::string bytes_at(const Fd& file, off_t at, std::size_t count) {
  std::string bytes(count, 'x');
  REQUIRE(::pread(file.get(), bytes.data(), count, at) == static_cast<ssize_t>(count));
  return bytes;
}

}  // namespace

TEST_CASE("copy of bytes: holes stay holes, between two file systems as well as in one") {
  const std::string folder = *make_private_folder("/tmp", "muster-copy-");
  const std::string memory = *make_private_folder("/dev/shm", "muster-copy-");
  for (const std::string& place : {folder, memory}) {
    CAPTURE(place);
    const Fd from(::open((folder + "/from").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(::ftruncate(from.get(), length) == 0);
    REQUIRE(::pwrite(from.get(), "middle", 6, length / 2) == 6);
    const Fd to(::open((place + "/to").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(copy_bytes(from.get(), to.get(), "to"));
    CHECK(status_of(to).st_size == length);
    CHECK(status_of(to).st_blocks * 512 < 1 << 20);
    CHECK(bytes_at(to, length / 2 - 1, 8) == std::string("\0middle\0", 8));
  }
  CHECK(remove_tree(folder));
  CHECK(remove_tree(memory));
}

TEST_CASE("copy of bytes: files of the kernel, which have no length, are read to their end") {
  const Fd from(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  const Fd to(::memfd_create("to", MFD_CLOEXEC));
  REQUIRE(copy_bytes(from.get(), to.get(), "to"));
  CHECK(status_of(to).st_size > 100);
  CHECK(bytes_at(to, 0, 5) == "Name:");
}

}  // namespace muster
