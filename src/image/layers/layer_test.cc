#include "image/layers/layer.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <zstd.h>

#include <map>

#include "image/layers/path_limit.h"
#include "image/manifest.h"
#include "os/packing/testing.h"

namespace muster::image {
namespace {

using packing::Scratch;
using packing::Tar;

class TextBytes final : public Bytes {
 public:
  explicit TextBytes(std::string text) : text_(std::move(text)) {}
  Result<std::string_view> next() override {
    const std::string_view piece = std::string_view(text_).substr(at_, 1000);
    at_ += piece.size();
    return piece;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

/// Layers over each other, each in a folder of its own.
struct Layers {
  explicit Layers(BudgetLimits most = {}) : budget(most) {}
  Result<LayerReport> add_packed(const std::string& packed, const std::string& tar,
                                 LayerLimits limits = {}) {
    const std::string root = scratch.path + "/" + std::to_string(roots.size());
    std::filesystem::create_directory(root);
    Result<LayerReport> report = unpack_layer(std::make_unique<TextBytes>(packed), digest_of(tar),
                                              root, {roots.rbegin(), roots.rend()}, limits, budget);
    if (report) roots.push_back(root);
    return report;
  }
  Result<LayerReport> add(const Tar& tar, LayerLimits limits = {}) {
    return add_packed(tar.bytes(), tar.bytes(), limits);
  }
  std::string at(const std::string& path) const { return roots.back() + "/" + path; }

  Scratch scratch;
  Budget budget;
  std::vector<std::string> roots;
};

struct stat status_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

bool is_whiteout(const std::string& path) {
  const struct stat status = status_of(path);
  return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

bool is_opaque(const std::string& path) {
  char value = 0;
  return ::getxattr(path.c_str(), "trusted.overlay.opaque", &value, 1) == 1 && value == 'y';
}

std::string text_of(const std::string& path) {
  return *read_file(path);
}

TEST_SUITE_BEGIN("image layer" * doctest::skip(::geteuid() != 0));

TEST_CASE("image layer: files with their owners, modes and times") {
  Layers layers;
  Tar tar;
  tar.folder("./").folder("bin").member('0', "bin/su", "", "program", 04755);
  tar.pax({{"SCHILY.xattr.user.note", "n"},
           {"SCHILY.xattr.trusted.overlay.opaque", "y"},
           {"SCHILY.xattr.user.overlay.opaque", "y"}});
  tar.file("bin/note", "x", 0600);
  tar.symlink("abs", "/etc/passwd").symlink("up", "../../../etc");
  tar.hard_link("bin/su2", "./bin/su").member('6', "pipe", "", "", 0622);
  const Result<LayerReport> report = layers.add(tar);
  REQUIRE(report);
  CHECK(report->entries == 8);
  const struct stat su = status_of(layers.at("bin/su"));
  CHECK((su.st_mode & 07777) == 04755);
  CHECK(su.st_uid == 4321);
  CHECK(su.st_mtime == 1600000000);
  CHECK(su.st_ino == status_of(layers.at("bin/su2")).st_ino);
  CHECK(status_of(layers.at("bin")).st_mtime == 1600000000);
  CHECK(std::filesystem::read_symlink(layers.at("abs")) == "/etc/passwd");
  CHECK(std::filesystem::read_symlink(layers.at("up")) == "../../../etc");
  CHECK(status_of(layers.at("abs")).st_gid == 4321);
  CHECK(S_ISFIFO(status_of(layers.at("pipe")).st_mode));
  char value[8] = {};
  CHECK(::getxattr(layers.at("bin/note").c_str(), "user.note", value, sizeof value) == 1);
  CHECK(::getxattr(layers.at("bin/note").c_str(), "user.overlay.opaque", value, 8) < 0);
  CHECK(!is_opaque(layers.at("bin/note")));
}

TEST_CASE("image layer: names and links lead nowhere else") {
  Layers layers;
  Tar tar;
  tar.file("../../outside", "1").file("/rooted", "2").file("a/../b/./c", "3");
  tar.symlink("away", "/../../tmp").file("away/inside", "4");
  tar.symlink("d/up", "../..").file("d/up/top", "5");
  tar.file("d/x\\y", "6").hard_link("hard", "../../rooted");
  REQUIRE(layers.add(tar));
  CHECK(text_of(layers.at("outside")) == "1");
  CHECK(text_of(layers.at("rooted")) == "2");
  CHECK(text_of(layers.at("b/c")) == "3");
  CHECK(text_of(layers.at("tmp/inside")) == "4");
  CHECK(text_of(layers.at("top")) == "5");
  CHECK(text_of(layers.at("d/x\\y")) == "6");
  CHECK(text_of(layers.at("hard")) == "2");
  CHECK(!is_there("/tmp/inside"));
  CHECK(std::distance(std::filesystem::directory_iterator(layers.scratch.path), {}) == 1);
}

TEST_CASE("image layer: whiteouts and opaque folders as an overlay has them") {
  Layers layers;
  Tar base;
  base.folder("a").file("a/old", "1").file("gone", "2").folder("b").file("b/1", "").folder("c");
  base.file("c/deep", "").file("same", "old").folder("d").file("d/1", "");
  REQUIRE(layers.add(base));
  Tar tar;
  tar.file("a/new", "3").file("a/.wh..wh..opq", "").file("a/.wh.old", "");
  tar.file(".wh.gone", "").file(".wh.never", "").file("none/.wh.x", "");
  tar.file("b/.wh.1", "").file(".wh.c", "").folder("c").file("c/own", "");
  tar.file(".wh.same", "").file("same", "new").file(".wh..wh.plnk", "");
  REQUIRE(layers.add(tar));
  CHECK(is_opaque(layers.at("a")));
  CHECK(!is_there(layers.at("a/old")));
  CHECK(!is_there(layers.at("a/.wh.old")));
  CHECK(is_whiteout(layers.at("gone")));
  CHECK(!is_there(layers.at("never")));
  CHECK(!is_there(layers.at("none")));
  CHECK(is_whiteout(layers.at("b/1")));
  CHECK(!is_opaque(layers.at("b")));
  CHECK(is_opaque(layers.at("c")));
  CHECK(text_of(layers.at("same")) == "new");
  Tar third;  // What the second layer hid is not there to be hidden again.
  third.file(".wh.gone", "").file("a/.wh.old", "").file("d/2", "");
  REQUIRE(layers.add(third));
  CHECK(!is_there(layers.at("gone")));
  CHECK(!is_there(layers.at("a")));
  Tar all;
  all.file(".wh..wh..opq", "").file("b/2", "");
  REQUIRE(layers.add(all));
  for (const char* name : {"a", "c", "same", "d"}) CHECK(is_whiteout(layers.at(name)));
  CHECK(is_opaque(layers.at("b")));
  CHECK(!is_there(layers.at("gone")));
}

TEST_CASE("image layer: links and folders of the layers below") {
  Layers layers;
  Tar base;
  base.member('5', "opt", "", "", 0711).file("opt/file", "bytes", 0640);
  base.folder("usr").folder("usr/lib").symlink("lib", "usr/lib");
  REQUIRE(layers.add(base));
  Tar tar;
  tar.hard_link("other", "opt/file").hard_link("opt/third", "opt/file").file("lib/new.so", "so");
  REQUIRE(layers.add(tar));
  CHECK(text_of(layers.at("other")) == "bytes");
  const struct stat file = status_of(layers.at("opt/file"));
  CHECK(file.st_nlink == 3);
  CHECK((file.st_mode & 0777) == 0640);
  CHECK(file.st_uid == 4321);
  CHECK((status_of(layers.at("opt")).st_mode & 0777) == 0711);
  CHECK(status_of(layers.at("opt")).st_uid == 4321);
  CHECK(text_of(layers.at("usr/lib/new.so")) == "so");
  CHECK(!is_there(layers.at("lib")));
  Tar broken;
  broken.hard_link("x", "not/there");
  const Result<LayerReport> report = layers.add(broken);
  REQUIRE(!report);
  CHECK(report.error().text ==
        "'x' links to 'not/there', which is neither in the layer nor in one below it");
}

TEST_CASE("image layer: of devices only those that every machine has alike") {
  Layers layers;
  Tar tar;
  tar.device('3', "dev/null", 1, 3).device('3', "dev/mem", 1, 1).device('4', "dev/sda", 8, 0);
  tar.device('3', "hidden", 0, 0);
  const Result<LayerReport> report = layers.add(tar);
  REQUIRE(report);
  CHECK(status_of(layers.at("dev/null")).st_rdev == makedev(1, 3));
  CHECK(!is_there(layers.at("dev/mem")));
  CHECK(!is_there(layers.at("dev/sda")));
  CHECK(!is_there(layers.at("hidden")));
  CHECK(report->left_out == 3);
  CHECK(report->said[1] == "'dev/sda' left out: it is a device, 8:0");
}

TEST_CASE("image layer: zeros become holes, and count as bytes but not on the disk") {
  Layers layers;
  Tar tar;
  const std::string bytes = "begin" + std::string(4 << 20, '\0') + "end";
  tar.file("holes", bytes).file("zeros", std::string(1 << 20, '\0'));
  const Result<LayerReport> report = layers.add(tar);
  REQUIRE(report);
  CHECK(text_of(layers.at("holes")) == bytes);
  CHECK(status_of(layers.at("holes")).st_blocks <= 32);
  CHECK(status_of(layers.at("zeros")).st_size == 1 << 20);
  CHECK(status_of(layers.at("zeros")).st_blocks == 0);
  CHECK(report->disk_bytes < 64 << 10);
  const Result<LayerReport> more = layers.add(tar, {.bytes_max = 4 << 20});
  REQUIRE(!more);
  CHECK(more.error().text == "contains more than 4194304 bytes when unpacked");
  CHECK(!layers.add(tar, {.entries_max = 1}));
}

/// A path of so many parts with a last one; "d/d/d/last".
std::string deep(std::size_t parts, const std::string& last) {
  std::string path;
  for (std::size_t i = 1; i < parts; ++i) path += "d/";
  return path + last;
}

TEST_CASE("image layer: paths have 4095 bytes and 256 parts at most") {
  const std::string name(200, 'n');
  std::string longest = name;
  while (longest.size() + 201 <= path_bytes_max) longest += "/" + name;
  longest += "/" + std::string(path_bytes_max - longest.size() - 1, 'l');
  Layers layers;
  REQUIRE(layers.add(Tar().file(longest, "1").file(deep(256, "f"), "2").symlink("s", longest)));
  CHECK(text_of(layers.at(deep(256, "f"))) == "2");
  const std::string too_long = longest + "l";
  const std::string too_deep = deep(257, ".wh.x");
  const std::string many = deep(500'000, ".wh.x");
  const Tar wrong[] = {Tar().file(too_long, ""),
                       Tar().file(too_deep, ""),
                       Tar().file(many, ""),
                       Tar().symlink("s", too_long),
                       Tar().symlink("s", too_deep),
                       Tar().file("f", "").hard_link("h", too_deep),
                       Tar().file(deep(257, "..") + "/f", ""),
                       Tar().folder(too_long)};
  for (const Tar& tar : wrong) {
    const Result<LayerReport> report = layers.add(tar);
    REQUIRE(!report);
    CHECK(report.error().text.find("the limits are 4095 bytes and 256 parts") != std::string::npos);
  }
}

TEST_CASE("image layer: a hard link to a lower layer's file with holes copies no holes") {
  Layers layers;
  REQUIRE(layers.add(Tar().file("base", "x")));
  const Fd file(::open(layers.at("base").c_str(), O_WRONLY | O_CLOEXEC));
  constexpr off_t far = off_t{1} << 40;
  REQUIRE(::pwrite(file.get(), "end", 3, far) == 3);
  for (int i = 0; i < 10; ++i) {
    const Result<LayerReport> report = layers.add(Tar().hard_link("other", "base"));
    REQUIRE(report);
    CHECK(report->disk_bytes < 64u << 10);
  }
  const struct stat copy = status_of(layers.at("other"));
  CHECK(copy.st_size == far + 3);
  CHECK(copy.st_nlink == 2);
  char end[3];
  const Fd copied(::open(layers.at("base").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::pread(copied.get(), end, 3, far) == 3);
  CHECK(std::string(end, 3) == "end");
}

TEST_CASE("image layer: all layers of an image write and copy within one limit") {
  Layers layers({.disk_bytes_max = 1 << 20});
  REQUIRE(layers.add(Tar().file("a", std::string(400'000, 'a'))));
  REQUIRE(layers.add(Tar().hard_link("b", "a")));
  const Result<LayerReport> copied = layers.add(Tar().hard_link("c", "a"));
  REQUIRE(!copied);
  CHECK(copied.error().code == Errc::protocol);
  CHECK(copied.error().text.find("exceeds the limit of 1048576 bytes on the disk (at most 3/4 of "
                                 "the disk's free space)") != std::string::npos);
  CHECK(!layers.add(Tar().file("d", std::string(1, 'd'))));

  Tar names;
  for (int i = 0; i < 1000; ++i) names.symlink("link" + std::to_string(i), "x");
  CHECK(!Layers({.disk_bytes_max = 512u << 10}).add(names));
  Tar folders;
  for (int i = 0; i < 1000; ++i) folders.folder("f" + std::to_string(i));
  CHECK(!Layers({.disk_bytes_max = 2u << 20}).add(folders));
  Tar linked;
  linked.file("f", "");
  for (int i = 0; i < 1000; ++i) linked.hard_link("link" + std::to_string(i), "f");
  CHECK(!Layers({.disk_bytes_max = 512u << 10}).add(linked));
  CHECK(!Layers({.disk_bytes_max = 4096})
             .add(Tar().pax({{"SCHILY.xattr.user.note", std::string(8192, 'n')}}).file("f", "")));
}

TEST_CASE("image layer: processor time has a limit that grows with bytes read and written") {
  Tar zeros;
  zeros.file("zeros", std::string(64u << 20, '\0'));
  const BudgetLimits none{.time_max = std::chrono::seconds(0), .bytes_each_second = 1u << 30};
  const std::string bytes = zeros.bytes();
  Layers layers(none);
  const Result<LayerReport> report = layers.add_packed(packing::gzipped(bytes), bytes);
  REQUIRE(!report);
  CHECK(report.error().code == Errc::protocol);
  CHECK(report.error().text.find("exceeds the limit of 0 s of processor time") !=
        std::string::npos);
  CHECK(Layers().add_packed(packing::gzipped(bytes), bytes));
  Layers quick({.time_max = std::chrono::seconds(0), .bytes_each_second = 1});
  CHECK(quick.add(Tar().file("f", std::string(100'000, 'f'))));
}

TEST_CASE("image layer: names that are kept until the end have a limit of memory") {
  const BudgetLimits few{.names_bytes_max = 4096};
  Tar whiteouts;
  Tar folders;
  Tar opaque;
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    whiteouts.file(".wh.w" + number, "");
    folders.folder("f" + number);
    opaque.file("o" + number + "/.wh..wh..opq", "");
  }
  for (const Tar& tar : {whiteouts, folders, opaque}) {
    const Result<LayerReport> report = Layers(few).add(tar);
    REQUIRE(!report);
    CHECK(
        report.error().text ==
        "the names of the layer's folders and whiteouts exceed the limit of 4096 bytes of memory");
    CHECK(Layers().add(tar));
  }
}

TEST_CASE("image layer: a layer's size is its use of the disk") {
  Layers layers;
  Tar tar;
  tar.file("f", std::string(100'000, 'f')).hard_link("g", "f").hard_link("h", "f");
  for (int i = 0; i < 1000; ++i) tar.folder("again").file("same", std::string(5000, 's'));
  const Result<LayerReport> report = layers.add(tar);
  REQUIRE(report);
  CHECK(report->disk_bytes > 100'000);
  CHECK(report->disk_bytes < 200'000);
}

TEST_CASE("image layer: a whiteout of a folder and one below it, in any order") {
  Layers layers;
  REQUIRE(layers.add(Tar().folder("a").file("a/b", "").file("a/c", "")));
  REQUIRE(layers.add(Tar().file(".wh.a", "").file("a/.wh.b", "")));
  CHECK(is_opaque(layers.at("a")));
}

TEST_CASE("image layer: of two entries with one name the last one counts") {
  Layers layers;
  Tar tar;
  tar.file("x", "1").symlink("x", "y").folder("x").file("x/in", "2");
  tar.folder("dir").file("dir/in", "3").file("dir", "4").symlink("p/l", "q").folder("p/l");
  tar.file("p/l/in", "5").folder("kept").file("kept/in", "6").folder("kept");
  REQUIRE(layers.add(tar));
  CHECK(text_of(layers.at("x/in")) == "2");
  CHECK(text_of(layers.at("dir")) == "4");
  CHECK(text_of(layers.at("p/l/in")) == "5");
  CHECK(!is_there(layers.at("p/q")));
  CHECK(text_of(layers.at("kept/in")) == "6");
}

TEST_CASE("image layer: gzip of many members, zstd, and uncompressed") {
  Tar tar;
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919);
  tar.file("text", text);
  const std::string bytes = tar.bytes();
  std::string zstd(::ZSTD_compressBound(bytes.size()), '\0');
  zstd.resize(::ZSTD_compress(zstd.data(), zstd.size(), bytes.data(), bytes.size(), 1));
  const std::string half = bytes.substr(0, bytes.size() / 2);
  for (const std::string& packed :
       {bytes, packing::gzipped(bytes), zstd,
        packing::gzipped(half) + packing::gzipped(bytes.substr(half.size())) + "\0\0"}) {
    Layers layers;
    const Result<LayerReport> report = layers.add_packed(packed, bytes);
    REQUIRE(report);
    CHECK(report->tar_bytes == bytes.size());
    CHECK(text_of(layers.at("text")) == text);
  }
  for (const std::string& packed : {packing::gzipped(bytes), zstd})
    for (const std::size_t cut : {std::size_t{5}, packed.size() / 2, packed.size() - 3}) {
      Layers layers;
      CAPTURE(cut);
      const Result<LayerReport> report = layers.add_packed(packed.substr(0, cut), bytes);
      REQUIRE(!report);
      CHECK(report.error().code == Errc::protocol);
      CHECK(report.error().text.find("truncated") != std::string::npos);
    }
}

TEST_CASE("image layer: damaged, cut short, another tar: an error in one line") {
  Tar tar;
  tar.file("a", std::string(100'000, 'a')).file("b", "b");
  const std::string bytes = tar.bytes();
  std::string flipped = packing::gzipped(bytes);
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x55);
  Tar owner;
  owner.pax({{"uid", "99999999999"}}).file("x", "");
  const std::pair<std::string, std::string> cases[] = {
      {flipped, ""},
      {bytes.substr(0, 50'000), ""},
      {bytes.substr(0, bytes.size() - 1024), "does not match its digest"},
      {std::string(2000, 'x'), "is not a tar archive"},
      {"x", "does not match its digest"},
      {"", "does not match its digest"},
      {Tar().file("c", "c").bytes(), "does not match its digest"},
      {Tar().file("..", "x").bytes(), "that is not a folder"},
      {Tar().file("a/.wh.", "x").bytes(), "a whiteout without a name"},
      {Tar().file("a/.wh...", "x").bytes(), "a whiteout without a name"},
      {Tar().file("a", "x").file("a/b", "x").bytes(), "is a file here, but a folder"},
      {Tar().symlink("l", "m").symlink("m", "l").file("l/x", "").bytes(),
       "symbolic links form a loop"},
      {Tar().folder("f").hard_link("g", "f").bytes(), "links to a folder"},
      {owner.bytes(), "an invalid owner"},
  };
  for (const auto& [packed, want] : cases) {
    Layers layers;
    const std::string wanted = want;
    CAPTURE(wanted);
    const Result<LayerReport> report = layers.add_packed(packed, bytes);
    REQUIRE(!report);
    CHECK(report.error().code == Errc::protocol);
    CHECK(report.error().text.find(wanted) != std::string::npos);
    CHECK(report.error().text.find('\n') == std::string::npos);
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace muster::image
