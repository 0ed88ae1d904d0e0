#include "machine/sampler/py_spy_program.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/remove_tree.h"

namespace muster::sampler {
namespace {

constexpr uid_t nobody = 65534;

/// Programs in a folder that only its user may enter.
struct Home {
  Home() : path(*make_private_folder("/tmp", "muster-spy-")) {}
  ~Home() { CHECK(remove_tree(path)); }
  std::string program(const std::string& name, mode_t mode) const {
    std::string made = path + "/" + name;
    REQUIRE(write_file(made, "#!/bin/sh\n", 0755));
    REQUIRE(::chmod(made.c_str(), mode) == 0);
    return made;
  }
  std::string path;
};

/// The path or the error of what a process of `user` chooses from files that we opened.
std::string chosen_by(uid_t user, const Args& paths, bool as_root) {
  std::vector<PySpy> held = hold_py_spies(paths);
  Pipe pipe = *make_pipe();
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool is_user = ::setresuid(user, user, user) == 0;
    const Result<PySpy> chosen = choose_py_spy(std::move(held), as_root);
    const std::string text = !is_user ? "" : chosen ? chosen->path : chosen.error().text;
    static_cast<void>(write_all(pipe.write.get(), text));
    ::_exit(0);
  }
  pipe.write.reset();
  std::string text(4096, '\0');
  const ssize_t count = ::read(pipe.read.get(), text.data(), text.size());
  ::waitpid(pid, nullptr, 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

TEST_CASE(
    "py-spy: the first file that the host's root may execute, in folders that it cannot enter") {
  if (::geteuid() != 0) return;
  const Home home;
  const std::string closed = home.program("closed", 0700);
  const std::string open = home.program("open", 0755);
  CHECK(chosen_by(nobody, {home.path + "/none", home.path, closed, open}, false) == open);
  CHECK(chosen_by(nobody, {closed}, false) ==
        "py-spy: " + closed + ": permission denied; run chmod a+rx on it");
  CHECK(chosen_by(nobody, {}, false) ==
        "py-spy: not found next to the job's Python or on PATH; run pip install py-spy");
}

TEST_CASE("py-spy: with all of root's rights, only a file that no other user can change") {
  if (::geteuid() != 0) return;
  const Home home;
  const std::string ours = home.program("ours", 0755);
  const std::string shared = home.program("shared", 0775);
  const std::string theirs = home.program("theirs", 0755);
  REQUIRE(::chown(theirs.c_str(), nobody, nobody) == 0);
  CHECK(chosen_by(0, {theirs, shared, ours}, true) == ours);
  CHECK(chosen_by(0, {theirs, shared}, true) ==
        "py-spy: " + theirs +
            ": users other than root can change it, but it would run as root here");
  CHECK(chosen_by(nobody, {theirs}, false) == theirs);
}

}  // namespace
}  // namespace muster::sampler
