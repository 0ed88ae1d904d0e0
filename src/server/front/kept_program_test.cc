#include "server/front/kept_program.h"

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"

namespace muster::server {
namespace {

struct Place {
  Place() : path(*make_private_folder("/tmp", "muster-kept-")) {}
  ~Place() { CHECK(remove_tree(path)); }
  std::string programs() const { return path + "/programs"; }
  /// A program of this name with these bytes; replaced as installers do it.
  std::string install(const std::string& name, const std::string& bytes) const {
    REQUIRE(write_file(path + "/" + name, bytes, 0755));
    return path + "/" + name;
  }
  std::string path;
};

ino_t inode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

/// Runs already when this comes back.
pid_t run_until_closed(const std::string& program, const Fd& input) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  std::string name = program;
  char* const argv[] = {name.data(), nullptr};
  char* const env[] = {nullptr};
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv, env) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

TEST_CASE("kept program: a server that starts again has the same file, also of a copied program") {
  const Place place;
  const std::string first = kept_program(place.programs(), place.install("sm", "same"));
  const ino_t inode = inode_of(first);
  // A hard link where that is possible; another file with the same bytes is as an installed copy.
  for (const char* name : {"sm", "copy"}) {
    CAPTURE(name);
    CHECK(kept_program(place.programs(), place.install(name, "same")) == first);
    CHECK(inode_of(first) == inode);
  }
  CHECK(names_in(place.programs())->size() == 1);
}

TEST_CASE("kept program: one that was replaced stays while a process runs it") {
  const Place place;
  const std::string cat = place.install("sm", *read_file("/bin/cat"));
  const std::string first = kept_program(place.programs(), cat);
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t pid = run_until_closed(first, pipe->read);

  place.install("sm", "an upgrade");
  const std::string second = kept_program(place.programs(), cat);
  CHECK(second != first);
  CHECK(*read_file(second) == "an upgrade");
  CHECK(::access(first.c_str(), X_OK) == 0);

  pipe->write.reset();
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  CHECK(kept_program(place.programs(), cat) == second);
  CHECK(::access(first.c_str(), F_OK) != 0);
  CHECK(names_in(place.programs())->size() == 1);
}

TEST_CASE("kept program: a copy that a killed server began is not used") {
  const Place place;
  const std::string program = place.install("sm", "whole");
  REQUIRE(make_folders(place.programs() + "/none"));
  REQUIRE(make_folders(place.programs() + "/half"));
  REQUIRE(write_file(place.programs() + "/half/sm", "who", 0755));
  CHECK(*read_file(kept_program(place.programs(), program)) == "whole");
  CHECK(names_in(place.programs())->size() == 1);
}

TEST_CASE("kept program: where no place can be made it is the program itself") {
  const Place place;
  REQUIRE(write_file(place.programs(), "a file"));
  CHECK(kept_program(place.programs(), "/bin/cat") == "/bin/cat");
}

}  // namespace
}  // namespace muster::server
