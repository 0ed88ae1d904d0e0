#include "os/packing/unpack.h"

#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/packing/archive_member.h"
#include "os/packing/testing.h"

using namespace muster;
using namespace muster::packing;

namespace {

using Files = std::map<std::string, std::string>;

/// A line for each, so that a failed check shows them.
std::string text_of(const Files& files) {
  std::string text;
  for (const auto& [path, what] : files) text += shown(path) + " " + what + "\n";
  return text;
}

/// A code folder, with things around it that must not be touched.
struct Place {
  Place() {
    std::filesystem::create_directories(code);
    put_file(scratch.path + "/outside/secret", "secret");
    put_file(scratch.path + "/code-beside/secret", "secret");
    before = outside();
  }
  /// Everything but what is in the code folder.
  Files outside() const {
    Files found = snapshot(scratch.path);
    std::erase_if(found, [](const auto& item) {
      return item.first.starts_with("code/") || item.first == "sourcedir.tar.gz";
    });
    return found;
  }
  Result<UnpackReport> unpack(const std::string& bytes, const UnpackLimits& limits = {}) const {
    const std::string archive = scratch.path + "/sourcedir.tar.gz";
    put_file(archive, bytes);
    Result<UnpackReport> report = packing::unpack(archive, code, limits, "sourcedir.tar.gz");
    CHECK(text_of(outside()) == text_of(before));
    return report;
  }

  Scratch scratch;
  std::string code = scratch.path + "/code";
  Files before;
};

std::string text_of(const Result<UnpackReport>& report) {
  if (!report) return report.error().text;
  std::string text;
  for (const std::string& line : report->said) text += line + "\n";
  return text;
}

std::string deep(int count, const std::string& last) {
  std::string path;
  for (int i = 0; i < count; ++i) path += "d/";
  return path + last;
}

}  // namespace

TEST_CASE("unpack: an archive of tar -C folder . is restored exactly, without messages") {
  const Place place;
  Tar tar;
  tar.folder("./").file("./train.py", "print(1)").folder("./lib").file("./lib/a.sh", "x", 0775);
  tar.symlink("./lib/b", "../train.py").hard_link("./c.py", "./train.py").file("empty", "");
  for (const std::string& bytes : {gzipped(tar.bytes()), tar.bytes()}) {
    std::filesystem::remove_all(place.code);
    std::filesystem::create_directories(place.code);
    const Result<UnpackReport> report = place.unpack(bytes);
    REQUIRE_MESSAGE(report, text_of(report));
    CHECK(text_of(report) == "");
    CHECK(report->files == 3);
    CHECK(report->links == 2);
    CHECK(report->bytes == 9);
    CHECK(text_of(snapshot(place.code)) == text_of(Files{{"train.py", "file 644 print(1)"},
                                                         {"c.py", "file 644 print(1)"},
                                                         {"empty", "file 644 "},
                                                         {"lib", "folder 755"},
                                                         {"lib/a.sh", "file 755 x"},
                                                         {"lib/b", "link ../train.py"}}));
  }
}

TEST_CASE("unpack: hostile archives stay inside the folder, and refused entries are reported") {
  const std::string evil = "evil";
  struct {
    std::string name;
    Tar tar;
    Files want;
    const char* said;  ///< Part of it; empty: nothing is said.
  } const cases[] = {
      {"dots",
       Tar().file("../../etc/passwd", evil),
       {{"etc", "folder 755"}, {"etc/passwd", "file 644 evil"}},
       "'../../etc/passwd' unpacked as 'etc/passwd'"},
      {"dots inside",
       Tar().file("a/../../b", evil),
       {{"a", "folder 755"}, {"a/b", "file 644 evil"}},
       "unpacked as 'a/b'"},
      {"absolute", Tar().file("/abs.py", evil), {{"abs.py", "file 644 evil"}}, "as 'abs.py'"},
      {"two slashes",
       Tar().file("//host/x", evil),
       {{"host", "folder 755"}, {"host/x", "file 644 evil"}},
       "as 'host/x'"},
      {"backslashes", Tar().file("..\\..\\x.py", evil), {{"x.py", "file 644 evil"}}, "as 'x.py'"},
      {"drive letter, which is a name here",
       Tar().file("C:\\x.py", evil),
       {{"C:", "folder 755"}, {"C:/x.py", "file 644 evil"}},
       "as 'C:/x.py'"},
      {"symbolic link out", Tar().symlink("out", "../outside"), {}, "'../outside', outside"},
      {"absolute link out", Tar().symlink("out", "/etc"), {}, "'/etc', outside the code folder"},
      {"beside with the same start", Tar().symlink("out", "../code-beside"), {}, "outside"},
      {"link out, then through it",
       Tar().symlink("out", "../outside").file("out/secret", evil),
       {{"out", "folder 755"}, {"out/secret", "file 644 evil"}},
       "outside the code folder"},
      {"link in, then through it",
       Tar().folder("lib").symlink("l", "lib").file("l/x", "x"),
       {{"lib", "folder 755"}, {"l", "link lib"}, {"lib/x", "file 644 x"}},
       ""},
      {"link that climbs by another one made later",
       Tar().symlink("l", "a/b/../..").symlink("a/b", "..").file("l/secret", evil),
       {{"a", "folder 755"}, {"a/b", "link .."}},
       "'l/secret' left out: it leads outside"},
      {"two links that climb together",
       Tar().symlink("a", ".").symlink("b", "a/..").symlink("c", "a/../outside"),
       {{"a", "link ."}},
       "'b' left out"},
      {"link through a link out of a folder",
       Tar().folder("d").symlink("d/l", "../.."),
       {{"d", "folder 755"}},
       "'d/l' left out"},
      {"hard link out", Tar().hard_link("h", "../outside/secret"), {}, "outside the code folder"},
      {"absolute hard link", Tar().hard_link("h", "/etc/passwd"), {}, "outside the code folder"},
      {"hard link to a link that leads out from there",
       Tar().folder("d").file("code", "x").symlink("d/l", "../x").hard_link("l", "d/l"),
       {{"d", "folder 755"}, {"code", "file 644 x"}, {"d/l", "link ../x"}},
       "'l' left out"},
      {"hard link to a folder",
       Tar().folder("d").hard_link("h", "d"),
       {{"d", "folder 755"}},
       "which is not a file"},
      {"hard link to nothing", Tar().hard_link("h", "gone"), {}, "not unpacked before it"},
      {"hard link to itself", Tar().file("a", "x").hard_link("a", "a"), {{"a", "file 644 x"}}, ""},
      {"hard link to dots", Tar().hard_link("h", ".."), {}, "outside the code folder"},
      {"character device", Tar().member('3', "null"), {}, "'null' left out: it is a device"},
      {"block device", Tar().member('4', "sda"), {}, "'sda' left out: it is a device"},
      {"fifo", Tar().member('6', "pipe"), {}, "'pipe' left out: it is a device or a pipe"},
      {"setuid, setgid, sticky, writable",
       Tar().file("su", "x", 07777),
       {{"su", "file 755 x"}},
       ""},
      {"no rights at all", Tar().file("a", "x", 0), {{"a", "file 600 x"}}, ""},
      {"a file over a link",
       Tar().file("a", "a").symlink("l", "a").file("l", "new"),
       {{"a", "file 644 a"}, {"l", "file 644 new"}},
       ""},
      {"a file twice",
       Tar().file("a", "old one", 0755).file("a", "new"),
       {{"a", "file 644 new"}},
       ""},
      {"a file over a hard link leaves the other name",
       Tar().file("a", "old").hard_link("b", "a").file("b", "new"),
       {{"a", "file 644 old"}, {"b", "file 644 new"}},
       ""},
      {"symbolic links form a loop",
       Tar().symlink("a", "b").symlink("b", "a"),
       {{"a", "link b"}, {"b", "link a"}},
       ""},
      {"a link to itself", Tar().symlink("a", "a"), {{"a", "link a"}}, ""},
      {"a link to nothing inside", Tar().symlink("a", "b/c"), {{"a", "link b/c"}}, ""},
      {"names with newline and escape",
       Tar().file("/a\n\x1b[31mb", "x"),
       {{"a\n\x1b[31mb", "file 644 x"}},
       "'/a\\x0a\\x1b[31mb' unpacked as"},
      {"a name that is no UTF-8", Tar().file("/\xff", "x"), {{"\xff", "file 644 x"}}, "'/\\xff'"},
      {"a name with NUL",
       Tar().pax({{"path", std::string("a\0/../../b", 10)}}).file("n", "x"),
       {{"a", "file 644 x"}},
       ""},
      {"only dots", Tar().file("..", evil), {}, "'..' left out: its name is empty"},
      {"only a slash", Tar().folder("/"), {}, "'/' left out: its name is empty"},
      {"no name", Tar().file("", evil), {}, "left out: its name is empty"},
      {"the folder itself", Tar().folder("."), {}, ""},
      {"names that differ by case",
       Tar().file("A", "1").file("a", "2"),
       {{"A", "file 644 1"}, {"a", "file 644 2"}},
       ""},
      {"a name of 255 bytes",
       Tar().file(std::string(255, 'n'), "x"),
       {{std::string(255, 'n'), "file 644 x"}},
       ""},
      {"pax path out",
       Tar().pax({{"path", "../../x"}}).file("n", "x"),
       {{"x", "file 644 x"}},
       "unpacked as 'x'"},
      {"pax link out",
       Tar().pax({{"linkpath", "../outside"}}).symlink("l", "inside"),
       {},
       "outside the code folder"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Place place;
    const Result<UnpackReport> report = place.unpack(gzipped(c.tar.bytes()));
    CHECK_MESSAGE(report, text_of(report));
    CHECK(text_of(snapshot(place.code)) == text_of(c.want));
    if (*c.said == '\0')
      CHECK(text_of(report) == "");
    else
      CHECK_MESSAGE(text_of(report).find(c.said) != std::string::npos, text_of(report));
  }
}

TEST_CASE("unpack: a failure is one line, and the folder stays empty") {
  const Tar good = Tar().file("first.py", "x").file("a/second.py", std::string(100000, 'y'));
  const std::string whole = gzipped(good.bytes());
  std::string wrong_sum = whole;
  wrong_sum[wrong_sum.size() - 8] = static_cast<char>(wrong_sum[wrong_sum.size() - 8] ^ 1);
  std::string wrong_header = good.bytes();
  wrong_header[1024] = '!';
  UnpackLimits small;
  small.bytes_max = 1 << 20;
  small.ratio_max = 1;
  UnpackLimits few;
  few.entries_max = 1;
  struct {
    std::string name;
    std::string bytes;
    UnpackLimits limits;
    const char* want;
  } const cases[] = {
      {"empty file", "", {}, "not a tar archive"},
      {"text", "print('no archive')\n", {}, "not a tar archive"},
      {"gzip of text", gzipped(std::string(5000, 'x')), {}, "not a tar archive"},
      {"zip", std::string("PK\3\4", 4) + std::string(600, 'z'), {}, "not a tar archive"},
      {"cut in the gzip header", whole.substr(0, 5), {}, "the file ends in the middle"},
      {"cut in the middle", whole.substr(0, whole.size() / 2), {}, "the file ends in the middle"},
      {"cut in the checksum", whole.substr(0, whole.size() - 3), {}, "the file ends in the middle"},
      {"cut in the tar", gzipped(good.bytes().substr(0, 5000)), {}, "is damaged: Truncated tar"},
      {"wrong checksum", wrong_sum, {}, "is damaged: gzip: incorrect data check"},
      {"wrong deflate data", whole.substr(0, 10) + std::string(50, '\xff'), {}, "is damaged: gzip"},
      {"wrong tar header", gzipped(wrong_header), {}, "is damaged: Damaged tar"},
      {"a bomb", gzipped(Tar().file("zeros", std::string(8 << 20, '\0')).bytes()), small,
       "contains more than 1048576 bytes when unpacked"},
      {"a bomb behind the end", gzipped(good.bytes() + std::string(8 << 20, '\0')), small,
       "contains more than 1048576 bytes when unpacked"},
      {"a sparse member of 5 GiB",
       gzipped(Tar()
                   .pax({{"GNU.sparse.major", "0"},
                         {"GNU.sparse.minor", "1"},
                         {"GNU.sparse.name", "hole"},
                         {"GNU.sparse.size", "5368709120"},
                         {"GNU.sparse.numblocks", "1"},
                         {"GNU.sparse.map", "0,1"}})
                   .file("hole", "x")
                   .bytes()),
       {},
       "contains more than 4294967296 bytes when unpacked"},
      {"a huge size",
       gzipped(Tar().member('0', "a", "", "x", 0644, "77777777777").bytes()),
       {},
       "contains more than"},
      {"a huger size",
       gzipped(Tar()
                   .member('0', "a", "", "x", 0644, "\x80\x00\x00\x00\x7f" + std::string(7, '\xff'))
                   .bytes()),
       {},
       "size overflow"},
      {"a negative size",
       gzipped(Tar().member('0', "a", "", "x", 0644, std::string(12, '\xff')).bytes()),
       {},
       ""},
      {"too many members", whole, few, "contains more than 1 entries"},
      {"too deep", gzipped(Tar().file(deep(200, "x"), "x").bytes()), {}, "128 folders deep"},
      {"a name that no file system holds",
       gzipped(Tar().file(std::string(300, 'n'), "x").bytes()),
       {},
       "File name too long"},
      {"a file below a file",
       gzipped(Tar().file("a", "x").file("a/b", "y").bytes()),
       {},
       "'a' appears both as a file and as a folder"},
      {"a link over a folder",
       gzipped(Tar().file("d/x", "x").symlink("d", "/etc").file("d/y", "y").bytes()),
       {},
       "'d' appears both as a folder and as something else"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Place place;
    const Result<UnpackReport> report = place.unpack(c.bytes, c.limits);
    REQUIRE_MESSAGE(!report, text_of(report));
    CHECK(report.error().text.starts_with("sourcedir.tar.gz: "));
    CHECK_MESSAGE(report.error().text.find(c.want) != std::string::npos, report.error().text);
    CHECK(report.error().text.find('\n') == std::string::npos);
    CHECK(snapshot(place.code).empty());
  }
}

TEST_CASE("unpack: a hole within the limit stays a hole") {
  const Place place;
  const Tar tar = Tar()
                      .pax({{"GNU.sparse.major", "0"},
                            {"GNU.sparse.minor", "1"},
                            {"GNU.sparse.name", "hole"},
                            {"GNU.sparse.size", "1073741824"},
                            {"GNU.sparse.numblocks", "1"},
                            {"GNU.sparse.map", "1073741823,1"}})
                      .file("hole", "x");
  const Result<UnpackReport> report = place.unpack(gzipped(tar.bytes()));
  REQUIRE_MESSAGE(report, text_of(report));
  struct stat status {};
  REQUIRE(::stat((place.code + "/hole").c_str(), &status) == 0);
  CHECK(status.st_size == 1 << 30);
  CHECK(status.st_blocks < 1000);
}

TEST_CASE("unpack: an absolute link to below the code folder is inside") {
  const Place place;
  const Tar tar = Tar().file("a", "x").symlink("l", place.code + "/a").symlink("d", place.code);
  const Result<UnpackReport> report = place.unpack(gzipped(tar.bytes()));
  REQUIRE(report);
  CHECK(text_of(report) == "");
  CHECK(snapshot(place.code).size() == 3);
}

namespace {

/// In a process whose root holds nothing but the archive and the code folder. 0: it was unpacked,
/// and nothing was said; 2: it takes root.
int unpack_in_empty_root(const Place& place, const std::string& bytes) {
  put_file(place.scratch.path + "/sourcedir.tar.gz", bytes);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chroot(place.scratch.path.c_str()) != 0 || ::chdir("/") != 0) ::_exit(2);
    const Result<UnpackReport> report = unpack("/sourcedir.tar.gz", "/code", {}, "archive");
    ::_exit(report && report->refused == 0 ? 0 : 1);
  }
  int status = -1;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("unpack: names that are not ASCII need no locale") {
  const std::string name = "mod\xc3\xa8le/\xc3\xbc.py";
  const std::string folder = "mod\xc3\xa8le";
  const Files want = {{folder, "folder 755"}, {name, "file 644 x"}, {"l", "link " + name}};
  const Tar tars[] = {
      Tar().pax({{"path", name}}).file("n", "x").pax({{"linkpath", name}}).symlink("l", "n"),
      Tar().file(name, "x").symlink("l", name)};
  for (const Tar& tar : tars) {
    const Place place;
    const Result<UnpackReport> report = place.unpack(gzipped(tar.bytes()));
    REQUIRE_MESSAGE(report, text_of(report));
    CHECK(text_of(report) == "");
    CHECK(text_of(snapshot(place.code)) == text_of(want));

    const Place empty;
    const int status = unpack_in_empty_root(empty, gzipped(tar.bytes()));
    if (status == 2) {
      MESSAGE("not in an empty root: that takes root");
      continue;
    }
    CHECK(status == 0);
    CHECK(text_of(snapshot(empty.code)) == text_of(want));
  }
}

TEST_CASE("unpack: lines about a member are bounded, and counted") {
  const Place place;
  Tar tar;
  for (int i = 0; i < 80; ++i) tar.member('6', "p" + std::to_string(i));
  const Result<UnpackReport> report = place.unpack(gzipped(tar.bytes()));
  REQUIRE(report);
  CHECK(report->refused == 80);
  CHECK(report->said.size() == UnpackReport::said_max);
}

TEST_CASE("unpack: consecutive gzip members are one archive, and bytes after them are ignored") {
  const Place place;
  const std::string bytes = Tar().file("a", std::string(3000, 'a')).file("b", "b").bytes();
  const std::string parts = gzipped(bytes.substr(0, 700)) + gzipped(bytes.substr(700));
  REQUIRE(place.unpack(parts + std::string(100, '\0') + "rest"));
  CHECK(snapshot(place.code).size() == 2);
}

TEST_CASE("unpack: a folder with something in it, no folder, and no archive are errors") {
  const Place place;
  const std::string bytes = gzipped(Tar().file("a", "x").bytes());
  put_file(place.code + "/there", "x");
  CHECK(text_of(place.unpack(bytes)) == "sourcedir.tar.gz: " + place.code + ": is not empty");
  CHECK(snapshot(place.code).size() == 1);
  const Result<UnpackReport> missing = unpack("/nonexistent/a", place.code, {}, "a");
  REQUIRE(!missing);
  CHECK(missing.error().code == Errc::not_found);
  const Result<UnpackReport> folder = unpack(place.code, place.code, {}, "a");
  REQUIRE(!folder);
  CHECK(folder.error().text == "a: not a regular file");
  const std::string archive = place.scratch.path + "/sourcedir.tar.gz";
  CHECK(!unpack(archive, place.code + "/no", {}, "a"));
}

TEST_CASE("unpack: leftovers of a killed run are not code, and are removed") {
  const Place place;
  put_file(place.code + "/.muster-unpack-abcdef/half", "x");
  REQUIRE(place.unpack(gzipped(Tar().file("a", "x").bytes())));
  CHECK(text_of(snapshot(place.code)) == text_of(Files{{"a", "file 644 x"}}));
}

TEST_CASE("unpack: a full disk is said with the member's name, and the folder is empty again") {
  Place place;
  if (::mount("none", place.code.c_str(), "tmpfs", 0, "size=1m") != 0) {
    MESSAGE("skipped: mounting a small disk takes root");
    return;
  }
  place.before = place.outside();  // The mount has a mode of its own.
  const Tar tar = Tar().file("small", "x").file("a/large", std::string(4 << 20, 'y'));
  CHECK(text_of(place.unpack(gzipped(tar.bytes()))) ==
        "sourcedir.tar.gz: cannot write 'a/large': No space left on device");
  CHECK(snapshot(place.code).empty());
  CHECK(place.unpack(gzipped(Tar().file("small", "x").bytes())));
  CHECK(::umount(place.code.c_str()) == 0);
}

TEST_CASE("unpack: the limit comes from MUSTER_CODE_BYTES_MAX") {
  CHECK(limits_from({})->bytes_max == 4ull << 30);
  CHECK(limits_from({{"MUSTER_CODE_BYTES_MAX", ""}})->ratio_max == 16);
  CHECK(limits_from({{"MUSTER_CODE_BYTES_MAX", "1000"}})->bytes_max == 1000);
  CHECK(limits_from({{"MUSTER_CODE_BYTES_MAX", "1000"}})->ratio_max == 0);
  for (const char* bad : {"0", "-1", "4GiB", " 1", "99999999999999999999"}) {
    const Result<UnpackLimits> limits = limits_from({{"MUSTER_CODE_BYTES_MAX", bad}});
    REQUIRE(!limits);
    CHECK(limits.error().code == Errc::invalid_input);
  }
}

TEST_CASE("member: names are made to fit, modes lose what is dangerous") {
  CHECK(placed("a/./b//c/").parts == std::vector<std::string>{"a", "b", "c"});
  CHECK(!placed("./a/.b/...").changed);
  CHECK(placed("./a/.b/...").parts == std::vector<std::string>{"a", ".b", "..."});
  CHECK(placed("a/..").changed);
  CHECK(placed_mode(0644) == 0644);
  CHECK(placed_mode(0777) == 0755);
  CHECK(placed_mode(06755) == 0755);
  CHECK(placed_mode(0411) == 0600);
  CHECK(shown(std::string(400, 'x')).size() < 200);
  CHECK(shown("\xe2\x82\xac\x80") == "'\xe2\x82\xac\\x80'");
}
