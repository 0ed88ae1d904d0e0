#include "engine/job_folder.h"

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/remove_tree.h"
#include "base/process/private_folders.h"
#include "base/text.h"

namespace muster::engine {
namespace {

struct State {
  State() : path(*make_private_folder("/tmp", "muster-engine-")) {}
  ~State() { static_cast<void>(remove_tree(path)); }
  std::string path;
};

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

TEST_CASE("job folder: private, locked, with a key of 32 random bytes") {
  State state;
  Result<JobFolder> job = JobFolder::create(state.path, "demo");
  REQUIRE(job);
  CHECK(job->path() == state.path + "/jobs/demo");
  CHECK(mode_of(job->path()) == 0700);
  CHECK(mode_of(job->key_file()) == 0600);
  const std::string key = trim(*read_file(job->key_file()));
  CHECK(from_hex(key)->size() == 32);
  CHECK(JobFolder::names(state.path) == std::vector<std::string>{"demo"});
  const std::string path = job->path();
  REQUIRE(job->remove());
  CHECK(::access(path.c_str(), F_OK) != 0);
  CHECK(::rmdir((state.path + "/jobs").c_str()) == 0);  // Nothing else is left there.
  CHECK(JobFolder::names(state.path).empty());
}

TEST_CASE("job folder: a name in use is refused, with what to do about it") {
  State state;
  {
    Result<JobFolder> job = JobFolder::create(state.path, "demo");
    REQUIRE(job);
    const Result<JobFolder> again = JobFolder::create(state.path, "demo");
    REQUIRE(!again);
    CHECK(again.error().code == Errc::invalid_input);
    CHECK(again.error().text.find("demo is already running on this machine") != std::string::npos);
    REQUIRE(job->keep());
  }
  const Result<JobFolder> kept = JobFolder::create(state.path, "demo");
  REQUIRE(!kept);
  CHECK(kept.error().text.find("sm clean") != std::string::npos);
  CHECK(JobFolder::create(state.path, "other"));
}

TEST_CASE("private folders: noted once, forgotten when they are gone") {
  State state;
  const std::string file = state.path + "/run/folders";
  CHECK(private_folders(file)->empty());
  REQUIRE(make_folders(state.path + "/a"));
  REQUIRE(note_private_folder(file, state.path + "/a"));
  REQUIRE(make_folders(state.path + "/gone"));
  REQUIRE(::symlink((state.path + "/gone").c_str(), (state.path + "/link").c_str()) == 0);
  REQUIRE(note_private_folder(file, state.path + "/link"));
  REQUIRE(note_private_folder(file, state.path + "/a"));
  CHECK(*private_folders(file) ==
        std::vector<std::string>{state.path + "/a", state.path + "/gone"});
  REQUIRE(::rmdir((state.path + "/gone").c_str()) == 0);
  REQUIRE(note_private_folder(file, state.path));
  CHECK(*private_folders(file) == std::vector<std::string>{state.path + "/a", state.path});
  REQUIRE(make_folders(state.path + "/b\nc"));
  CHECK(note_private_folder(file, state.path + "/b\nc").error().code == Errc::invalid_input);
  CHECK(note_private_folder(file, state.path + "/none").error().code == Errc::not_found);
  struct stat info {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

}  // namespace
}  // namespace muster::engine
