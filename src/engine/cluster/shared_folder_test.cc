#include "engine/cluster/shared_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::cluster {
namespace {

struct Folder {
  Folder() : path(*make_private_folder("/tmp", "muster-shared-")) {
    REQUIRE(make_folders(shared));
    REQUIRE(make_folders(job));
    REQUIRE(write_file(program, "a program", 0755));
  }
  ~Folder() { static_cast<void>(remove_tree(path)); }
  std::string part() const { return shared + "/muster-" + std::to_string(::geteuid()); }

  std::string path;
  std::string shared = path + "/shared";
  std::string job = path + "/jobs/demo";
  std::string program = path + "/sm";
};

TEST_CASE("shared folder: each job has a separate folder there, and each version one program") {
  const Folder folder;
  const SharedPlaces first = *make_shared(folder.shared, folder.job, folder.program);
  const SharedPlaces second = *make_shared(folder.shared, folder.job, folder.program);
  CHECK(first.folder != second.folder);
  CHECK(first.folder.starts_with(folder.part() + "/demo-"));
  CHECK(first.program == second.program);
  CHECK(read_file(first.program.path).value_or("") == "a program");
  struct stat status {};
  REQUIRE(::stat(first.program.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0700);
  CHECK(first.program.path.ends_with(first.program.digest.substr(7)));
  CHECK(make_shared(folder.shared, folder.job, "")->program == SharedFile{});
}

TEST_CASE("shared folder: a job's files there are noted, and removed by that note") {
  const Folder folder;
  CHECK(!*read_shared(folder.job));
  CHECK(remove_shared(folder.job));
  SharedPlaces places = *make_shared(folder.shared, folder.job, folder.program);
  places.archive = {places.folder + "/archive", "sha256:ab"};
  REQUIRE(write_file(places.archive.path, "tar"));
  REQUIRE(write_shared(folder.job, places));
  CHECK(**read_shared(folder.job) == places);
  REQUIRE(remove_shared(folder.job));
  CHECK(!std::filesystem::exists(places.folder));
  CHECK(std::filesystem::exists(places.program.path));
  for (const char* text : {"", "[]", "{}", R"({"folder": 1, "program": {}, "archive": {}})"}) {
    CAPTURE(text);
    REQUIRE(write_file(folder.job + "/shared.json", text));
    CHECK(read_shared(folder.job).error().code == Errc::protocol);
  }
}

TEST_CASE("shared folder: a note removes nothing but a job's folder in the user's own part") {
  const Folder folder;
  REQUIRE(make_folders(folder.path + "/precious/inner"));
  REQUIRE(make_folders(folder.part() + "/demo-1"));
  REQUIRE(make_folders(folder.path + "/muster-open/demo-1"));
  REQUIRE(::chmod((folder.path + "/muster-open").c_str(), 0777) == 0);
  REQUIRE(::symlink("precious", (folder.path + "/muster-link").c_str()) == 0);
  for (const std::string& named :
       {folder.path + "/precious", folder.path + "/precious/inner", folder.part() + "/..",
        folder.part() + "/", folder.part(), folder.path + "/muster-open/demo-1",
        folder.path + "/muster-link/inner"}) {
    CAPTURE(named);
    REQUIRE(write_shared(folder.job, {.folder = named}));
    CHECK(!remove_shared(folder.job));
  }
  CHECK(std::filesystem::exists(folder.path + "/precious/inner"));
  CHECK(std::filesystem::exists(folder.path + "/muster-open/demo-1"));
  REQUIRE(write_shared(folder.job, {.folder = folder.part() + "/demo-1"}));
  CHECK(remove_shared(folder.job));
  CHECK(!std::filesystem::exists(folder.part() + "/demo-1"));
  CHECK(remove_shared(folder.job));
  REQUIRE(write_shared(folder.job, {.folder = folder.path + "/gone/muster-0/demo"}));
  CHECK(remove_shared(folder.job));
}

TEST_CASE("shared folder: a part that another made, or may write to, is not used") {
  const Folder folder;
  REQUIRE(make_folders(folder.part()));
  REQUIRE(::chmod(folder.part().c_str(), 0777) == 0);
  CHECK(make_shared(folder.shared, folder.job, "").error().code == Errc::denied);
  REQUIRE(::rmdir(folder.part().c_str()) == 0);
  REQUIRE(::symlink("/tmp", folder.part().c_str()) == 0);
  CHECK(make_shared(folder.shared, folder.job, "").error().code == Errc::denied);
  CHECK(!make_shared(folder.path + "/none", folder.job, ""));
}

TEST_CASE("shared folder: other users with write access to its path could replace it") {
  const Folder folder;
  for (const std::string& path : {folder.shared, folder.path}) {
    CAPTURE(path);
    REQUIRE(::chmod(path.c_str(), 0770) == 0);
    CHECK(make_shared(folder.shared, folder.job, "").error().code == Errc::denied);
    REQUIRE(::chmod(path.c_str(), 01777) == 0);
    CHECK(make_shared(folder.shared, folder.job, ""));
    REQUIRE(::chmod(path.c_str(), 0700) == 0);
  }
}

TEST_CASE("shared folder: a program that was copied incompletely is copied again") {
  const Folder folder;
  const SharedPlaces first = *make_shared(folder.shared, folder.job, folder.program);
  REQUIRE(write_file(first.program.path, "a pro", 0700));
  CHECK(make_shared(folder.shared, folder.job, folder.program)->program == first.program);
  CHECK(read_file(first.program.path).value_or("") == "a program");
  REQUIRE(::unlink(first.program.path.c_str()) == 0);
  REQUIRE(::mkdir(first.program.path.c_str(), 0700) == 0);  // No file can take its name.
  REQUIRE(write_file(first.program.path + "/in", ""));
  CHECK(!make_shared(folder.shared, folder.job, folder.program));
  std::size_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder.part()))
    if (each.is_regular_file()) ++files;
  CHECK(files == 0);  // Nothing half-written stays.
}

TEST_CASE("shared folder: programs that no job has used for long go") {
  const Folder folder;
  const SharedPlaces old = *make_shared(folder.shared, folder.job, folder.program);
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, old.program.path.c_str(), long_ago, 0) == 0);
  REQUIRE(write_file(folder.program, "another", 0755));
  const SharedPlaces next = *make_shared(folder.shared, folder.job, folder.program);
  CHECK(!std::filesystem::exists(old.program.path));
  CHECK(std::filesystem::exists(next.program.path));
}

TEST_CASE("shared folder: whether a path is inside depends only on the names") {
  CHECK(is_shared("/shared/data", "/shared"));
  CHECK(is_shared("/shared", "/shared"));
  CHECK(!is_shared("/shared2", "/shared"));
  CHECK(!is_shared("/other/shared", "/shared"));
  CHECK(!is_shared("/a", ""));
}

}  // namespace
}  // namespace muster::cluster
