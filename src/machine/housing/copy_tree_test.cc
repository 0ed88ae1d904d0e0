#include "machine/housing/copy_tree.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"

namespace muster::steward {
namespace {

using Names = std::vector<std::string>;
constexpr int files = 20'000;
constexpr std::int64_t growth_kib_max = 2048;  ///< The names alone are twice as much.

struct Bench {
  explicit Bench(const char* place = "/tmp") : path(*make_private_folder(place, "muster-tree-")) {
    for (const char* folder : {"/from", "/to", "/links"}) REQUIRE(make_folders(path + folder));
  }
  ~Bench() { CHECK(remove_tree(path)); }
  Fd folder(const std::string& name) const {
    return Fd(::open((path + name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void link(const std::string& name, const std::string& further) const {
    REQUIRE(::link((path + name).c_str(), (path + further).c_str()) == 0);
  }
  int copy() const {
    const auto all = [](const std::string&) { return true; };
    return copy_tree(folder("/from").get(), folder("/to").get(), all, folder("/links").get());
  }
  struct stat status(const std::string& name) const {
    struct stat status {};
    CHECK(::lstat((path + name).c_str(), &status) == 0);
    return status;
  }

  const std::string path;
};

std::int64_t peak_kib() {
  const std::string text = *read_file("/proc/self/status");
  const std::size_t at = text.find("VmHWM:") + 6;
  return *parse_integer(split_words(text.substr(at, text.find(" kB", at) - at))[0]);
}

/// What a copy adds to the memory of a process; less than nothing if it fails.
std::int64_t growth_of_copy(const Bench& bench) {
  Pipe said = *make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    static_cast<void>(write_file("/proc/self/clear_refs", "5"));  // Resets the peak.
    const std::int64_t before = peak_kib();
    const std::int64_t grown = bench.copy() == 0 ? peak_kib() - before : -1;
    ::_exit(::write(said.write.get(), &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  ::waitpid(pid, nullptr, 0);
  std::int64_t grown = -1;
  CHECK(::read(said.read.get(), &grown, sizeof grown) == sizeof grown);
  return grown;
}

}  // namespace

TEST_CASE("copy of a tree: names of one file stay names of one file") {
  const Bench bench;
  REQUIRE(make_folders(bench.path + "/from/inner"));
  REQUIRE(write_file(bench.path + "/from/a", std::string(100'000, 'a')));
  REQUIRE(::symlink("inner/none", (bench.path + "/from/link").c_str()) == 0);
  REQUIRE(write_file(bench.path + "/from/single", "s"));
  bench.link("/from/a", "/from/inner/b");
  bench.link("/from/a", "/from/c");
  bench.link("/from/link", "/from/inner/link");
  const bool has_attributes =
      ::setxattr((bench.path + "/from/a").c_str(), "user.note", "kept", 4, 0) == 0;
  REQUIRE(bench.copy() == 0);
  CHECK(*names_in(bench.path + "/to") == Names{"a", "c", "inner", "link", "single"});
  CHECK(*read_file(bench.path + "/to/inner/b") == std::string(100'000, 'a'));
  CHECK(bench.status("/to/a").st_ino == bench.status("/to/inner/b").st_ino);
  CHECK(bench.status("/to/a").st_ino == bench.status("/to/c").st_ino);
  CHECK(bench.status("/to/link").st_ino == bench.status("/to/inner/link").st_ino);
  CHECK(names_in(bench.path + "/links")->size() == 2);
  CHECK(bench.status("/to/single").st_nlink == 1);
  std::array<char, 8> note{};
  if (has_attributes)
    CHECK(::getxattr((bench.path + "/to/c").c_str(), "user.note", note.data(), note.size()) == 4);
}

TEST_CASE("copy of a tree: memory does not grow with the number of names") {
  const Bench bench("/dev/shm");
  const Fd from = bench.folder("/from");
  const std::string long_name(200, 'n');
  for (int number = 0; number < files; number += 2) {
    const std::string name = long_name + std::to_string(number);
    REQUIRE(Fd(::openat(from.get(), name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
    REQUIRE(::linkat(from.get(), name.c_str(), from.get(), (name + "+").c_str(), 0) == 0);
  }
  const std::int64_t grown = growth_of_copy(bench);
  CHECK(grown >= 0);
  // A sanitizer keeps freed memory for a while.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(grown < growth_kib_max);
#endif
  CHECK(names_in(bench.path + "/to")->size() == files);
  CHECK(names_in(bench.path + "/links")->size() == files / 2);
}

}  // namespace muster::steward
