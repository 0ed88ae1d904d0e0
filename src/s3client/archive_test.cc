#include "s3client/archive.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "packing/gunzip.h"

using namespace muster;
using namespace muster::s3client;

namespace {

namespace fs = std::filesystem;
using Kind = packing::TreeEntry::Kind;

class Folder {
 public:
  Folder() : path_(*make_private_folder("/tmp", "muster-archive-")) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

packing::TreeEntry entry(const std::string& path, Kind kind, std::size_t root = 0) {
  packing::TreeEntry made{path};
  made.kind = kind;
  made.root = root;
  return made;
}

std::string shown(const std::vector<packing::TreeEntry>& entries) {
  std::string text;
  for (const packing::TreeEntry& each : entries)
    text += each.path + (each.kind == Kind::folder ? "/" : "") + std::to_string(each.root) + " ";
  return text;
}

std::string bytes_of(const Blob& blob) {
  std::string bytes(blob.bytes, '\0');
  CHECK(::pread(blob.fd.get(), bytes.data(), bytes.size(), 0) ==
        static_cast<ssize_t>(bytes.size()));
  return bytes;
}

/// A slice of the archive.
Result<std::string> slice(const packing::TarPlan& plan, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(bytes, 'x');
  text.resize(TRY(plan.read(offset, text)));
  return text;
}

/// gzip_members() of bytes in a buffer.
Result<Blob> packed_members(std::string_view bytes) {
  PackBuffer buffer = TRY(PackBuffer::make(bytes.size() + 1));
  const auto packed =
      std::make_shared<PackBuffer>(TRY(PackBuffer::make(gzip_bytes_max(bytes.size()))));
  std::copy(bytes.begin(), bytes.end(), buffer.space().begin());
  buffer.fill(bytes.size());
  TRY(gzip_members(buffer, *packed));
  return packed->blob(packed);
}

std::string noise(std::size_t size) {
  std::string bytes = random_bytes(std::min<std::size_t>(size, 256));
  while (bytes.size() < size)
    bytes += random_bytes(std::min<std::size_t>(256, size - bytes.size()));
  return bytes;
}

}  // namespace

TEST_CASE("tree: of two entries with one name the later host's stays") {
  struct {
    const char* name;
    std::vector<packing::TreeEntry> first;
    std::vector<packing::TreeEntry> second;
    const char* want;
  } const cases[] = {
      {"equal names", {entry("a", Kind::file)}, {entry("a", Kind::file, 1)}, "a1 "},
      {"joined folders",
       {entry("d", Kind::folder), entry("d/a", Kind::file), entry("d/b", Kind::file)},
       {entry("d", Kind::folder, 1), entry("d/b", Kind::file, 1)},
       "d/1 d/a0 d/b1 "},
      {"a folder becomes a file",
       {entry("d", Kind::folder), entry("d/a", Kind::file), entry("d-x", Kind::file)},
       {entry("d", Kind::file, 1)},
       "d1 d-x0 "},
      {"a file becomes a folder",
       {entry("d", Kind::file)},
       {entry("d", Kind::folder, 1), entry("d/a", Kind::file, 1)},
       "d/1 d/a1 "},
      {"a link in place of a folder",
       {entry("d", Kind::folder), entry("d/a", Kind::file)},
       {entry("d", Kind::link, 1)},
       "d1 "},
      {"content stands behind its folder",
       {entry("d", Kind::folder), entry("d/z", Kind::file), entry("d!", Kind::file)},
       {},
       "d/0 d/z0 d!0 "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(shown(packing::merge_trees({c.first, c.second})) == c.want);
  }
}

TEST_CASE("tree: walking sees files, folders and links, and follows none") {
  const Folder folder;
  REQUIRE(make_folders(folder / "d/e"));
  REQUIRE(write_file(folder / "d/f", "12345", 0640));
  REQUIRE(::chmod((folder / "d/f").c_str(), 07640) == 0);  // Lends nobody rights in an archive.
  REQUIRE(::chmod((folder / "d").c_str(), 07755) == 0);
  REQUIRE(::symlink("/etc", (folder / "link").c_str()) == 0);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Result<std::vector<packing::TreeEntry>> tree = packing::walk_tree(folder.path(), 3);
  REQUIRE(tree);
  CHECK(shown(*tree) == "d/3 d/e/3 d/f3 link3 ");
  CHECK((*tree)[2].bytes == 5);
  CHECK((*tree)[2].mode == 0640);
  CHECK((*tree)[0].mode == 0755);
  CHECK((*tree)[3].target == "/etc");
  CHECK(packing::walk_tree(folder / "none")->empty());
}

TEST_CASE("tar: any slice of the archive is what it is in the whole") {
  const Folder folder;
  const std::string big = noise(100'000);
  REQUIRE(make_folders(folder / "d"));
  REQUIRE(write_file(folder / "d/big", big));
  REQUIRE(write_file(folder / "d/empty", ""));
  REQUIRE(write_file(folder / std::string(120, 'n'), "x"));
  const packing::TarPlan plan(packing::merge_trees({*packing::walk_tree(folder.path())}),
                              {folder.path()});
  const std::string whole = *slice(plan, 0, plan.bytes());
  REQUIRE(whole.size() == plan.bytes());
  CHECK(whole.size() % 512 == 0);
  CHECK(whole.find(big) != std::string::npos);
  for (const std::uint64_t size : {1u, 511u, 512u, 513u, 4096u, 99'999u}) {
    std::string joined;
    const std::uint64_t step = std::max<std::uint64_t>(size, plan.bytes() / 300);
    for (std::uint64_t at = 0; at < plan.bytes(); at += step) joined += *slice(plan, at, step);
    CHECK(joined == whole);
  }
  CHECK(slice(plan, plan.bytes(), 10)->empty());
}

TEST_CASE("tar: a header holds what POSIX says, and pax what does not fit") {
  const std::string plain = packing::tar_header(entry("a/b", Kind::file));
  CHECK(plain.size() == 512);
  CHECK(plain.substr(257, 8) == std::string("ustar\00000", 8));
  CHECK(packing::tar_header(entry("d", Kind::folder)).substr(0, 3) == std::string("d/\0", 3));
  const std::string deep = std::string(150, 'p') + "/" + std::string(90, 'n');
  CHECK(packing::tar_header(entry(deep, Kind::file)).size() == 512);
  CHECK(packing::tar_header(entry(deep, Kind::file)).substr(345, 150) == std::string(150, 'p'));
  const std::string wide(300, 'n');
  const std::string pax = packing::tar_header(entry(wide, Kind::file));
  CHECK(pax.size() == 3 * 512);
  CHECK(pax[156] == 'x');
  CHECK(pax.substr(512, 14) == "310 path=nnnnn");
  packing::TreeEntry huge = entry("huge", Kind::file);
  huge.bytes = std::uint64_t{1} << 34;
  CHECK(packing::tar_header(huge).find("20 size=17179869184\n") != std::string::npos);
  CHECK(packing::tar_header(entry("\xff", Kind::file)).find("hdrcharset=BINARY") !=
        std::string::npos);
}

TEST_CASE("tar: a file that became shorter or went away is named") {
  const Folder folder;
  REQUIRE(write_file(folder / "a", "12345"));
  const packing::TarPlan plan(*packing::walk_tree(folder.path()), {folder.path()});
  REQUIRE(write_file(folder / "a", "1"));
  CHECK(slice(plan, 0, plan.bytes()).error().text == (folder / "a") + ": the file became shorter");
  REQUIRE(::unlink((folder / "a").c_str()) == 0);
  CHECK(slice(plan, 0, plan.bytes()).error().code == Errc::not_found);
}

TEST_CASE("blob: of memory that was used before, only what counts is copied") {
  PackBuffer buffer = *PackBuffer::make(1u << 16);
  std::fill(buffer.space().begin(), buffer.space().end(), 'x');  // What it held before.
  std::copy_n("packed", 6, buffer.space().begin());
  buffer.fill(6);
  const Blob part = *buffer.blob(nullptr);
  Blob joined = *make_blob();
  REQUIRE(append(joined, part));
  REQUIRE(append(joined, part));
  CHECK(joined.bytes == 12);
  CHECK(bytes_of(joined) == "packedpacked");
}

TEST_CASE("gzip: members together are the bytes again, packed or stored") {
  const Folder folder;
  std::string text;
  while (text.size() < 3'000'000) text += "epoch 12 loss 0.1234 accuracy 0.98765\n";
  const std::string cases[] = {"", "a", text, noise(2'500'000), noise(1 << 20) + text};
  for (const std::string& bytes : cases) {
    const Result<Blob> packed = packed_members(bytes);
    REQUIRE(packed);
    REQUIRE(write_file(folder / "in.gz", bytes_of(*packed)));
    ::unlink((folder / "out").c_str());
    REQUIRE(packing::gunzip_file(folder / "in.gz", folder / "out"));
    CHECK(*read_file(folder / "out") == bytes);
  }
  CHECK(packed_members(text)->bytes < text.size() / 4);
}

TEST_CASE("gunzip: what is no gzip data, or cut short, is an error") {
  const Folder folder;
  const std::string packed = bytes_of(*packed_members(noise(300'000)));
  struct {
    std::string bytes;
    const char* want;
  } const cases[] = {
      {"", "its gzip data is cut short"},
      {"plain text", "no gzip data, or damaged"},
      {packed.substr(0, packed.size() - 1), "its gzip data is cut short"},
      {packed.substr(0, 5), "its gzip data is cut short"},
      {packed.substr(0, 200'000) + "x" + packed.substr(200'001), "no gzip data, or damaged"},
  };
  for (const auto& c : cases) {
    REQUIRE(write_file(folder / "in.gz", c.bytes));
    ::unlink((folder / "out").c_str());
    const Result<void> done = packing::gunzip_file(folder / "in.gz", folder / "out");
    REQUIRE(!done);
    CHECK(done.error().code == Errc::invalid_input);
    CHECK(done.error().text == c.want);
  }
  REQUIRE(write_file(folder / "in.gz", packed + std::string(512, '\0')));
  ::unlink((folder / "out").c_str());
  CHECK(packing::gunzip_file(folder / "in.gz", folder / "out"));
}
