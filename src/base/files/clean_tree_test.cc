#include "base/files/clean_tree.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster {
namespace {

const Owner us{::geteuid(), ::getegid()};
const Owner another{12345, 23456};

struct Place {
  Place() : path(*make_private_folder("/tmp", "muster-clean-")) {}
  ~Place() { CHECK(remove_tree(path)); }
  std::string at(const std::string& name) const { return path + "/" + name; }
  std::string put(const std::string& name, mode_t mode = 0644) const {
    REQUIRE(write_file(at(name), "x"));
    REQUIRE(::chmod(at(name).c_str(), mode) == 0);
    return at(name);
  }
  struct stat status(const std::string& name) const {
    struct stat status {};
    if (::lstat(at(name).c_str(), &status) != 0) status.st_mode = 0;
    return status;
  }
  bool has(const std::string& name) const { return status(name).st_mode != 0; }
  LeftOut clean(Owner owner = us) const {
    Result<LeftOut> left_out = clean_tree(path, owner);
    REQUIRE(left_out);
    std::sort(left_out->lines.begin(), left_out->lines.end());
    return *left_out;
  }
  std::string path;
};

TEST_CASE("clean tree: bits that lend rights go, all others stay") {
  const Place place;
  REQUIRE(make_folders(place.at("folder")));
  place.put("setuid", 04755);
  place.put("setgid", 02755);
  place.put("folder/all", 07777);
  place.put("none", 0);
  place.put("plain", 0640);
  REQUIRE(::chmod(place.at("folder").c_str(), 07750) == 0);
  const LeftOut left_out = place.clean();
  CHECK(left_out.lines.empty());
  CHECK((place.status("setuid").st_mode & 07777) == 0755);
  CHECK((place.status("setgid").st_mode & 07777) == 0755);
  CHECK((place.status("folder/all").st_mode & 07777) == 0777);
  CHECK((place.status("folder").st_mode & 07777) == 0750);
  CHECK((place.status("none").st_mode & 07777) == 0);
  CHECK((place.status("plain").st_mode & 07777) == 0640);
}

TEST_CASE(
    "clean tree: capabilities and access lists are removed, a program's other attributes stay") {
  const Place place;
  const std::string file = place.put("file");
  // Revision 2, cap_setuid effective and permitted; and a list that lets user 1 write.
  const std::array<unsigned, 5> capability{0x02000001, 0x80, 0, 0, 0};
  const std::array<unsigned char, 44> access{2,  0, 0, 0,                          //
                                             1,  0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,  //
                                             2,  0, 6, 0, 1,    0,    0,    0,     //
                                             4,  0, 4, 0, 0xFF, 0xFF, 0xFF, 0xFF,  //
                                             16, 0, 6, 0, 0xFF, 0xFF, 0xFF, 0xFF,  //
                                             32, 0, 4, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  if (::setxattr(file.c_str(), "security.capability", capability.data(), sizeof capability, 0) !=
          0 ||
      ::setxattr(file.c_str(), "system.posix_acl_access", access.data(), access.size(), 0) != 0 ||
      ::setxattr(file.c_str(), "user.note", "n", 1, 0) != 0 ||
      ::setxattr(place.path.c_str(), "system.posix_acl_default", access.data(), access.size(), 0) !=
          0) {
    MESSAGE("skipped: no extended attributes here, or no right to them");
    return;
  }
  place.clean();
  std::array<char, 256> names{};
  const ssize_t size = ::listxattr(file.c_str(), names.data(), names.size());
  CHECK(std::string(names.data(), static_cast<std::size_t>(size)) ==
        std::string("user.note\0", 10));
  CHECK(::listxattr(place.path.c_str(), nullptr, 0) == 0);
}

TEST_CASE("clean tree: pipes, sockets and devices go and are named") {
  const Place place;
  REQUIRE(make_folders(place.at("in")));
  REQUIRE(::mkfifo(place.at("in/pipe").c_str(), 0600) == 0);
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  place.at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  const bool whiteout = ::mknod(place.at("whiteout").c_str(), S_IFCHR | 0666, 0) == 0;
  place.put("stays\n\x1b[31m");
  REQUIRE(::mkfifo(place.at("odd\n\x1b[31m\xff").c_str(), 0600) == 0);
  const LeftOut left_out = place.clean();
  const std::string why = ": neither a file nor a folder nor a link";
  std::vector<std::string> want{"in/pipe" + why, "odd??[31m\xEF\xBF\xBD" + why, "socket" + why};
  if (whiteout) want.push_back("whiteout" + why);
  CHECK(left_out.lines == want);
  for (const char* name : {"in/pipe", "socket", "whiteout"}) CHECK(!place.has(name));
  CHECK(place.has("stays\n\x1b[31m"));
}

TEST_CASE("clean tree: links are kept and nothing behind one is touched") {
  const Place outside;
  const Place place;
  outside.put("file", 04755);
  REQUIRE(::symlink(outside.at("file").c_str(), place.at("link").c_str()) == 0);
  REQUIRE(::symlink(outside.path.c_str(), place.at("folder").c_str()) == 0);
  if (::geteuid() == 0) {
    place.clean(another);
    CHECK(place.status("link").st_uid == another.user);
    CHECK(outside.status("file").st_uid == 0);
  }
  place.clean();
  CHECK(S_ISLNK(place.status("link").st_mode));
  CHECK((outside.status("file").st_mode & 07777) == 04755);
  CHECK(!clean_tree(place.at("folder"), us));
}

TEST_CASE("clean tree: everything gets its owner") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  const Place place;
  REQUIRE(make_folders(place.at("a/b")));
  place.put("a/b/file", 06755);
  place.clean(another);
  for (const char* name : {"", "a", "a/b", "a/b/file"}) {
    CAPTURE(name);
    CHECK(place.status(name).st_uid == another.user);
    CHECK(place.status(name).st_gid == another.group);
  }
  CHECK((place.status("a/b/file").st_mode & 07777) == 0755);
}

TEST_CASE("clean tree: a folder beyond the longest path is left out, once, with its content") {
  const Place place;
  const auto dig = [&](const std::string& start, const std::string& name, int depth) {
    REQUIRE(make_folders(place.at(start)));
    Fd at(::open(place.at(start).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int i = 1; i < depth; ++i) {
      REQUIRE(::mkdirat(at.get(), name.c_str(), 0700) == 0);
      at = Fd(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    const Fd file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(file);
  };
  dig("fits", "d", 128);
  dig("deep", "d", 600);
  dig("long", std::string(255, 'n'), 20);
  const LeftOut left_out = place.clean();
  REQUIRE(left_out.lines.size() == 2);
  CHECK(left_out.lines[0].find("it is more than 128 folders deep") != std::string::npos);
  CHECK(left_out.lines[1].find("its path is longer than 3072 bytes") != std::string::npos);
  std::string fits = "fits";
  for (int i = 1; i < 128; ++i) fits += "/d";
  CHECK(place.has(fits + "/file"));
  CHECK(place.clean().lines.empty());
}

TEST_CASE("clean tree: of many that are left out some are named and all are counted") {
  const Place place;
  for (int i = 0; i < 50; ++i) REQUIRE(::mkfifo(place.at(std::to_string(i)).c_str(), 0600) == 0);
  const LeftOut left_out = place.clean();
  CHECK(left_out.lines.size() == 20);
  CHECK(left_out.more == 30);
}

}  // namespace
}  // namespace muster
