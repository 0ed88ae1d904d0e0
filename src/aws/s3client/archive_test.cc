#include "aws/s3client/archive.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/files/folder.h"
#include "os/packing/gunzip.h"

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

std::vector<packing::Root> roots_at(const std::vector<std::string>& paths) {
  std::vector<packing::Root> roots;
  for (const std::string& path : paths) {
    Result<packing::Root> root = packing::own_root(path);
    REQUIRE(root);
    roots.push_back(*std::move(root));
  }
  return roots;
}

std::vector<packing::TreeEntry> walked(const std::vector<std::string>& roots) {
  std::vector<packing::TreeEntry> entries;
  const Result<void> done = packing::walk_trees(
      roots_at(roots), [&entries](const packing::TreeEntry& each) -> Result<void> {
        entries.push_back(each);
        return {};
      });
  REQUIRE(done);
  return entries;
}

bool write_empty(const std::string& path) {
  return static_cast<bool>(Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)));
}

void make_tree(const std::string& root, const std::vector<packing::TreeEntry>& entries) {
  REQUIRE(make_folders(root));
  for (const packing::TreeEntry& each : entries) {
    const std::string path = root + "/" + each.path;
    if (each.kind == Kind::folder) REQUIRE(make_folders(path));
    if (each.kind == Kind::file) REQUIRE(write_empty(path));
    if (each.kind == Kind::link) REQUIRE(::symlink("/etc", path.c_str()) == 0);
  }
}

packing::TarPlan plan_of(const std::string& root) {
  packing::EntryList list;
  REQUIRE(packing::walk_trees(roots_at({root}),
                              [&list](const packing::TreeEntry& each) { return list.add(each); }));
  return *packing::TarPlan::make(std::move(list), roots_at({root}));
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
    const Folder folder;
    make_tree(folder / "0", c.first);
    make_tree(folder / "1", c.second);
    CHECK(shown(walked({folder / "0", folder / "1"})) == c.want);
  }
}

TEST_CASE("tree: folders of which only the first and the third host have some are joined") {
  const Folder folder;
  const std::vector<std::string> roots{folder / "0", folder / "1", folder / "2", folder / "none"};
  make_tree(roots[0], {entry("d", Kind::folder), entry("d/a", Kind::file), entry("x", Kind::file)});
  make_tree(roots[1], {entry("d", Kind::file), entry("x", Kind::folder), entry("x/y", Kind::file)});
  make_tree(roots[2], {entry("d", Kind::folder), entry("d/b", Kind::file)});
  CHECK(shown(walked(roots)) == "d/2 d/b2 x/1 x/y1 ");
}

TEST_CASE("tree: a folder with more names than are held is walked as well, of several hosts, too") {
  const Folder folder;
  const std::string long_name(200, 'n');
  const std::vector<std::string> roots{folder / "0", folder / "1"};
  constexpr int files = 35'000;  // 9 MiB of names.
  for (const std::string& root : roots) REQUIRE(make_folders(root));
  for (int i = 0; i < files; ++i)
    REQUIRE(write_empty(roots[0] + "/" + long_name + std::to_string(i)));
  REQUIRE(make_folders(roots[1] + "/" + long_name + "7"));
  REQUIRE(write_empty(roots[1] + "/" + long_name + "7/inner"));
  REQUIRE(write_empty(roots[1] + "/" + long_name + "8"));
  std::set<std::string> seen;
  std::map<std::size_t, int> by_root;
  for (const packing::TreeEntry& each : walked(roots)) {
    CHECK(seen.insert(each.path).second);
    ++by_root[each.root];
  }
  CHECK(by_root == std::map<std::size_t, int>{{0, files - 2}, {1, 3}});
  CHECK(seen.contains(long_name + "7/inner"));
}

TEST_CASE("list: entries are read as they were added, from any start, in memory or on disk") {
  const Folder folder;
  for (const std::string& spill : {std::string(), folder.path()}) {
    CAPTURE(spill);
    packing::EntryList list(spill);
    std::vector<packing::TreeEntry> all;
    for (int i = 0; i < 10'000; ++i) {
      packing::TreeEntry each =
          entry(std::string(200, static_cast<char>('a' + i % 7)) + "/" + std::to_string(i),
                i % 3 == 0 ? Kind::link : Kind::file);
      each.bytes = static_cast<std::uint64_t>(i) << 33;
      each.time = -i;
      if (i % 3 == 0) each.target = "to " + std::to_string(i);
      all.push_back(each);
      REQUIRE(list.add(each));
    }
    CHECK(list.size() == all.size());
    packing::EntryList::Cursor cursor(list);
    packing::TreeEntry read;
    std::vector<std::pair<std::size_t, std::uint64_t>> starts;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (cursor.is_start()) starts.emplace_back(i, cursor.place());
      REQUIRE(*cursor.next(read));
      CHECK(read == all[i]);
    }
    CHECK(!*cursor.next(read));
    CHECK(starts.size() == (all.size() + 63) / 64);
    for (const auto& [number, place] : starts) {
      packing::EntryList::Cursor from(list, place);
      REQUIRE(*from.next(read));
      CHECK(read == all[number]);
    }
  }
  CHECK(names_in(folder.path())->empty());
}

TEST_CASE("list: neither the number of entries nor their names fill the memory") {
  const Folder folder;
  packing::EntryList list(folder.path());
  const std::size_t before = ::mallinfo2().uordblks;  // 0 under a sanitizer.
  const std::string start(3000, 'd');
  for (int i = 0; i < 200'000; ++i) {
    const std::string own = std::to_string(i * 7'919 % 1'000'003) + std::string(80, 'f');
    REQUIRE(list.add(entry(i % 2 == 0 ? own : start + own, Kind::file)));
  }
  const Result<packing::TarPlan> plan =
      packing::TarPlan::make(std::move(list), roots_at({folder.path()}));
  REQUIRE(plan);
  CHECK(plan->entries() == 200'000);
  CHECK(::mallinfo2().uordblks < before + (4u << 20));
}

TEST_CASE("tar: a path of more than 4095 bytes is refused") {
  for (const std::size_t bytes : {4095u, 4096u}) {
    packing::EntryList list;
    REQUIRE(list.add(entry(std::string(bytes, 'p'), Kind::file)));
    const Result<packing::TarPlan> plan = packing::TarPlan::make(std::move(list), roots_at({"/"}));
    CHECK(plan.has_value() == (bytes == 4095));
    if (!plan)
      CHECK(plan.error().text ==
            "a path has 4096 bytes, but paths in an archive can have at most 4095");
  }
}

TEST_CASE("tree: a walk finds files, folders and links, and follows none") {
  const Folder folder;
  REQUIRE(make_folders(folder / "d/e"));
  REQUIRE(write_file(folder / "d/f", "12345", 0640));
  REQUIRE(::chmod((folder / "d/f").c_str(), 07640) == 0);  // Set-id bits, which an archive drops.
  REQUIRE(::chmod((folder / "d").c_str(), 07755) == 0);
  REQUIRE(::symlink("/etc", (folder / "link").c_str()) == 0);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const Result<std::vector<packing::TreeEntry>> tree =
      packing::walk_tree(roots_at({folder.path()})[0]);
  REQUIRE(tree);
  CHECK(shown(*tree) == "d/0 d/e/0 d/f0 link0 ");
  CHECK((*tree)[2].bytes == 5);
  CHECK((*tree)[2].mode == 0640);
  CHECK((*tree)[0].mode == 0755);
  CHECK((*tree)[3].target == "/etc");
  CHECK(packing::walk_tree(roots_at({folder / "none"})[0])->empty());
}

TEST_CASE("tar: any slice of the archive is what it is in the whole") {
  const Folder folder;
  const std::string big = noise(100'000);
  REQUIRE(make_folders(folder / "d"));
  REQUIRE(write_file(folder / "d/big", big));
  REQUIRE(write_file(folder / "d/empty", ""));
  REQUIRE(write_file(folder / std::string(120, 'n'), "x"));
  const packing::TarPlan plan = plan_of(folder.path());
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
  const packing::TarPlan plan = plan_of(folder.path());
  REQUIRE(write_file(folder / "a", "1"));
  CHECK(slice(plan, 0, plan.bytes()).error().text ==
        (folder / "a") + ": the file was truncated while it was being read");
  REQUIRE(::unlink((folder / "a").c_str()) == 0);
  CHECK(slice(plan, 0, plan.bytes()).error().code == Errc::not_found);
}

TEST_CASE("tar: whatever replaces a listed folder or its parent, no other file is packed") {
  const Folder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    REQUIRE(make_folders(fs::path(folder / name).parent_path()));
    REQUIRE(write_file(folder / name, text));
  };
  const auto replace = [&](const std::string& name, const std::string& target) {
    REQUIRE(::rename((folder / name).c_str(), (folder / (name + "-away")).c_str()) == 0);
    REQUIRE(::symlink(target.c_str(), (folder / name).c_str()) == 0);
  };
  put("home/code/d/e/file", "good");
  for (const char* name : {"precious/code/d/e/file", "precious/e/file", "precious/file"})
    put(name, "evil");
  const packing::TarPlan plan = plan_of(folder / "home/code");
  const std::vector<packing::Root> roots = roots_at({folder / "home/code"});
  replace("home", folder / "precious");
  // The path leads elsewhere now; the folder is still the same.
  CHECK(slice(plan, 0, plan.bytes())->find("good") != std::string::npos);
  CHECK(shown(*packing::walk_tree(roots[0])) == "d/0 d/e/0 d/e/file0 ");
  for (const std::string name :
       {"home-away/code/d/e/file", "home-away/code/d/e", "home-away/code/d"}) {
    CAPTURE(name);
    replace(name, folder / (name.ends_with("file") ? "precious/file" : "precious"));
    const Result<std::string> packed = slice(plan, 0, plan.bytes());
    REQUIRE(!packed);
    CHECK(packed.error().text.find("cannot open " + (folder / "home/code/d/e/file")) == 0);
    fs::remove(folder / name);
    REQUIRE(::rename((folder / (name + "-away")).c_str(), (folder / name).c_str()) == 0);
  }
}

TEST_CASE("tree: a folder that is replaced by a link while it is listed is not entered") {
  const Folder folder;
  REQUIRE(make_folders(folder / "code/a"));
  REQUIRE(make_folders(folder / "code/b/inner"));
  REQUIRE(make_folders(folder / "precious/secret"));
  const std::vector<packing::Root> roots = roots_at({folder / "code"});
  std::string found;
  const Result<void> walked =
      packing::walk_trees(roots, [&](const packing::TreeEntry& each) -> Result<void> {
        found += each.path + " ";
        if (each.path != "b") return {};
        fs::rename(folder / "code/b", folder / "away");
        fs::create_symlink(folder / "precious", folder / "code/b");
        return {};
      });
  CHECK(found == "a b ");
  REQUIRE(!walked);
  CHECK(walked.error().text.find(folder / "code/b") != std::string::npos);
}

TEST_CASE("tar: roots with names are a folder and a file of one archive") {
  const Folder folder;
  REQUIRE(make_folders(folder / "code/deep"));
  REQUIRE(write_file(folder / "code/deep/a", "of the folder"));
  REQUIRE(write_file(folder / "key", "of the file"));
  std::vector<packing::Root> roots;
  roots.push_back({*find_given(folder / "code"), "source"});
  roots.push_back({*find_given(folder / "key"), "credentials"});
  packing::EntryList list;
  REQUIRE(list.add(entry("source", Kind::folder)));
  REQUIRE(packing::walk_trees({roots.data(), 1}, [&](const packing::TreeEntry& each) {
    packing::TreeEntry named = each;
    named.path = "source/" + each.path;
    return list.add(named);
  }));
  packing::TreeEntry key = entry("credentials", Kind::file, 1);
  key.bytes = 11;
  REQUIRE(list.add(key));
  const packing::TarPlan plan = *packing::TarPlan::make(std::move(list), std::move(roots));
  const std::string whole = *slice(plan, 0, plan.bytes());
  for (const char* text : {"source/deep/a", "of the folder", "credentials", "of the file"})
    CHECK(whole.find(text) != std::string::npos);
  REQUIRE(write_file(folder / "key", "another"));  // Another file by this name.
  CHECK(*slice(plan, 0, plan.bytes()) == whole);
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

TEST_CASE("blob: one on a disk takes no memory, and nothing stays in its folder") {
  const Folder folder;
  Blob blob = *make_blob(folder.path());
  REQUIRE(append(blob, "bytes"));
  CHECK(bytes_of(blob) == "bytes");
  CHECK(names_in(folder.path())->empty());
  struct statfs of_blob {};
  struct statfs of_folder {};
  REQUIRE(::fstatfs(blob.fd.get(), &of_blob) == 0);
  REQUIRE(::statfs(folder.path().c_str(), &of_folder) == 0);
  CHECK(of_blob.f_type == of_folder.f_type);
  CHECK(make_blob(folder / "none").error().code == Errc::not_found);
}

TEST_CASE("archive: of any length has no more parts than S3 takes") {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  CHECK(archive_part_bytes(0) == 8u << 20);
  CHECK(archive_part_bytes(70 * gib) == 8u << 20);
  for (const std::uint64_t bytes : {100 * gib, 600 * gib, 5000 * gib})
    CHECK(bytes / archive_part_bytes(bytes) < 10'000);
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

TEST_CASE("gunzip: data that is not gzip, or is cut short, is an error") {
  const Folder folder;
  const std::string packed = bytes_of(*packed_members(noise(300'000)));
  const char other = packed[200'000] == 'x' ? 'y' : 'x';
  struct {
    std::string bytes;
    const char* want;
  } const cases[] = {
      {"", "the gzip data is truncated"},
      {"plain text", "not gzip data, or the data is corrupt"},
      {packed.substr(0, packed.size() - 1), "the gzip data is truncated"},
      {packed.substr(0, 5), "the gzip data is truncated"},
      {packed.substr(0, 200'000) + other + packed.substr(200'001),
       "not gzip data, or the data is corrupt"},
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
