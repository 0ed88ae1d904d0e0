#include "image/kept/pack_layer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "image/layers/layer.h"

namespace muster::image {
namespace {

namespace fs = std::filesystem;

struct stat status_of(const fs::path& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

TEST_CASE("pack layer: a layer's folder, packed and unpacked, is the same folder") {
  if (::geteuid() != 0) return;  // Whiteouts and owners are root's.
  const fs::path base = *make_private_folder("/tmp", "pack-layer-");
  const fs::path from = base / "from";
  fs::create_directories(from / "bin");
  fs::create_directories(from / "etc/opaque");
  REQUIRE(write_file(from / "bin/run", "#!/bin/sh\n", 0644));
  REQUIRE(::chown((from / "bin/run").c_str(), 1000, 100) == 0);
  REQUIRE(::chmod((from / "bin/run").c_str(), 04755) == 0);
  fs::create_hard_link(from / "bin/run", from / "bin/again");
  fs::create_symlink("/bin/run", from / "link");
  REQUIRE(::mknod((from / "etc/gone").c_str(), S_IFCHR, makedev(0, 0)) == 0);
  const bool has_xattrs =
      ::setxattr((from / "etc/opaque").c_str(), "trusted.overlay.opaque", "y", 1, 0) == 0;
  REQUIRE(write_file(from / "etc/opaque/own", std::string(3'000'000, 'x'), 0600));

  // What no ustar header has room for.
  const std::string deep = "deep/" + std::string(120, 'd') + "/" + std::string(120, 'f');
  fs::create_directories((from / deep).parent_path());
  REQUIRE(write_file(from / deep, "far\n", 0640));
  REQUIRE(::chown((from / deep).c_str(), 3'000'000, 2'500'000) == 0);
  const timespec times[2] = {{1, 0}, {-5, 250'000'000}};
  REQUIRE(::utimensat(AT_FDCWD, (from / deep).c_str(), times, 0) == 0);
  const bool has_user = ::setxattr((from / deep).c_str(), "user.of", "a=b\n\0c", 6, 0) == 0;
  REQUIRE(::mkfifo((from / "queue").c_str(), 0622) == 0);

  const Result<std::uint64_t> bytes = pack_layer(from, base / "tar");
  REQUIRE(bytes);
  CHECK(*bytes > 3'000'000);
  CHECK((status_of(base / "tar").st_mode & 0777) == 0600);
  // Below lies what is hidden.
  const fs::path lower = base / "lower";
  fs::create_directories(lower / "etc/opaque");
  REQUIRE(write_file(lower / "etc/gone", "", 0644));
  REQUIRE(write_file(lower / "etc/opaque/hidden", "", 0644));
  const fs::path to = base / "to";
  fs::create_directories(to);
  Fd file(::open((base / "tar").c_str(), O_RDONLY | O_CLOEXEC));
  Budget budget({});
  const Result<LayerReport> report =
      unpack_layer(bytes_of(std::move(file)), "", to, {lower}, {}, budget);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().text));

  const struct stat run = status_of(to / "bin/run");
  CHECK((run.st_mode & 07777) == 04755);
  CHECK(run.st_uid == 1000);
  CHECK(run.st_gid == 100);
  CHECK(run.st_ino == status_of(to / "bin/again").st_ino);
  CHECK(fs::read_symlink(to / "link") == "/bin/run");
  const struct stat far = status_of(to / deep);
  CHECK(far.st_uid == 3'000'000);
  CHECK(far.st_gid == 2'500'000);
  CHECK((far.st_mode & 07777) == 0640);
  CHECK(far.st_mtim.tv_sec == status_of(from / deep).st_mtim.tv_sec);
  CHECK(far.st_mtim.tv_nsec == status_of(from / deep).st_mtim.tv_nsec);
  std::string own(16, '\0');
  if (has_user) {
    CHECK(::getxattr((to / deep).c_str(), "user.of", own.data(), own.size()) == 6);
    CHECK(own.starts_with(std::string("a=b\n\0c", 6)));
  }
  CHECK(S_ISFIFO(status_of(to / "queue").st_mode));
  CHECK(S_ISCHR(status_of(to / "etc/gone").st_mode));
  CHECK(status_of(to / "etc/opaque/own").st_size == 3'000'000);
  char value = 0;
  if (has_xattrs) {
    CHECK(::getxattr((to / "etc/opaque").c_str(), "trusted.overlay.opaque", &value, 1) == 1);
    CHECK(value == 'y');
  }
  fs::remove_all(base);
}

TEST_CASE("pack layer: a folder that is not there is an error that names it") {
  const fs::path base = *make_private_folder("/tmp", "pack-layer-");
  const Result<std::uint64_t> bytes = pack_layer(base / "none", base / "tar");
  REQUIRE(!bytes);
  CHECK(bytes.error().text.find("none") != std::string::npos);
  fs::remove_all(base);
}

}  // namespace
}  // namespace muster::image
