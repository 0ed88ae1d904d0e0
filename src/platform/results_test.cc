#include "platform/results.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/command.h"
#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::platform {
namespace {

struct Bench {
  Bench() : path(*make_private_folder("/tmp", "muster-results-")) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() {
    static_cast<void>(remove_tree(path));
    if (!other.empty()) static_cast<void>(remove_tree(other));
  }
  void put(const std::string& file, const std::string& text) {
    const std::string full = path + "/" + file;
    REQUIRE(make_folders(full.substr(0, full.rfind('/'))));
    REQUIRE(write_file(full, text));
  }
  std::string text(const std::string& file) const {
    return read_file(path + "/out/" + file).value_or("(none)");
  }
  bool has(const std::string& file) const {
    struct stat status {};
    return ::lstat((path + "/" + file).c_str(), &status) == 0;
  }
  Result<Merged> merge(std::vector<std::string> hosts, bool failed = false, bool if_any = false,
                       bool overwrite = false) {
    std::vector<engine::HostResult> results;
    for (const std::string& host : hosts) results.push_back({host, path + "/" + host});
    return merge_results(results, path + "/out", {failed, if_any, overwrite, {}});
  }
  std::string path;
  std::string other;
};

TEST_CASE("results: hosts are merged, the later one wins, by number and not by text") {
  Bench bench;
  bench.put("algo-1/model/a", "1");
  bench.put("algo-1/model/sub/only-1", "1");
  bench.put("algo-2/model/a", "2");
  bench.put("algo-2/model/sub/only-2", "2");
  bench.put("algo-10/model/a", "10");
  bench.put("algo-2/output/data/x", "2");
  const Result<Merged> merged = bench.merge({"algo-1", "algo-10", "algo-2"});
  REQUIRE(merged);
  CHECK(merged->written);
  CHECK(bench.text("model/a") == "10");
  CHECK(bench.text("model/sub/only-1") == "1");
  CHECK(bench.text("model/sub/only-2") == "2");
  CHECK(bench.text("output/data/x") == "2");
  CHECK(!bench.has("out/failure"));
}

TEST_CASE("results: files of two hosts with one name are both kept, unless they are equal") {
  Bench bench;
  for (const char* host : {"1", "2", "10"}) {
    const std::string folder = std::string("algo-") + host;
    bench.put(folder + "/model/deep/er/w", host);
    bench.put(folder + "/model/alike", std::string(3 << 20, 'x'));
    bench.put(folder + "/model/nearly", std::string(3 << 20, 'x') + host);
    REQUIRE(::symlink("alike", (bench.path + "/" + folder + "/model/link").c_str()) == 0);
  }
  bench.put("algo-1/output/data/log", "1");
  bench.put("algo-2/output/data/log/inside", "2");
  const Result<Merged> merged = bench.merge({"algo-2", "algo-1", "algo-10"});
  REQUIRE(merged);
  CHECK(bench.text("model/deep/er/w") == "10");
  CHECK(bench.text("conflicts/algo-2/model/deep/er/w") == "2");
  CHECK(bench.text("conflicts/algo-1/model/deep/er/w") == "1");
  CHECK(bench.text("conflicts/algo-2/model/nearly").ends_with("x2"));
  CHECK(bench.text("output/data/log/inside") == "2");
  CHECK(bench.text("conflicts/algo-1/output/data/log") == "1");
  CHECK(!bench.has("out/conflicts/algo-1/model/alike"));
  CHECK(!bench.has("out/conflicts/algo-1/model/link"));
  CHECK(!bench.has("out/conflicts/algo-10"));
  CHECK(merged->conflicts.count == 5);
  CHECK(merged->conflicts.names.size() == 5);
}

TEST_CASE("results: marks are left out, failures kept by host when the job failed") {
  Bench bench;
  bench.put("algo-1/output/success", "");
  bench.put("algo-1/output/failure", "why 1");
  bench.put("algo-2/output/failure", "why 2");
  bench.put("algo-2/output/data/x", "2");
  const Result<Merged> merged = bench.merge({"algo-1", "algo-2"}, true);
  REQUIRE(merged);
  CHECK(bench.text("failure/algo-1") == "why 1");
  CHECK(bench.text("failure/algo-2") == "why 2");
  CHECK(merged->failure_files ==
        Args{bench.path + "/out/failure/algo-1", bench.path + "/out/failure/algo-2"});
  CHECK(bench.text("output/data/x") == "2");
  CHECK(!bench.has("out/output/success"));
  CHECK(!bench.has("out/output/failure"));
}

TEST_CASE("results: kinds that clash, links and pipes do no harm") {
  Bench bench;
  bench.put("algo-1/model/thing/inside", "folder");
  bench.put("algo-2/model/thing", "file");
  bench.put("algo-1/model/turn", "file");
  bench.put("algo-2/model/turn/inside", "folder");
  bench.put("outside/file", "precious");
  REQUIRE(::symlink((bench.path + "/outside").c_str(),
                    (bench.path + "/algo-1/model/link").c_str()) == 0);
  bench.put("algo-2/model/link/file", "from algo-2");
  REQUIRE(::mkfifo((bench.path + "/algo-2/model/pipe").c_str(), 0600) == 0);
  REQUIRE(bench.merge({"algo-1", "algo-2"}));
  CHECK(bench.text("model/thing") == "file");
  CHECK(bench.text("model/turn/inside") == "folder");
  CHECK(bench.text("model/link/file") == "from algo-2");
  CHECK(read_file(bench.path + "/outside/file").value_or("") == "precious");
  CHECK(!bench.has("out/model/pipe"));
}

TEST_CASE("results: another file system gets copies with modes and links") {
  Bench bench;
  const Result<std::string> other = make_private_folder("/dev/shm", "muster-results-");
  struct stat here {
  }, there{};
  if (!other || ::stat(bench.path.c_str(), &here) != 0 || ::stat(other->c_str(), &there) != 0 ||
      here.st_dev == there.st_dev) {
    MESSAGE("skipped: /dev/shm is no file system of its own here");
    return;
  }
  bench.other = *other;
  bench.put("algo-1/model/run.sh", std::string(3 << 20, 'x'));
  bench.put("algo-1/model/sub/deep/file", "deep");
  REQUIRE(::chmod((bench.path + "/algo-1/model/sub").c_str(), 0710) == 0);
  REQUIRE(::chmod((bench.path + "/algo-1/model/run.sh").c_str(), 04750) == 0);
  REQUIRE(::symlink("run.sh", (bench.path + "/algo-1/model/link").c_str()) == 0);
  const std::string out = *other + "/deep/out";
  REQUIRE(merge_results({{"algo-1", bench.path + "/algo-1"}}, out, {}));
  struct stat status {};
  REQUIRE(::lstat((out + "/model/run.sh").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0750);
  CHECK(status.st_size == 3 << 20);
  REQUIRE(::lstat((out + "/model/link").c_str(), &status) == 0);
  CHECK(S_ISLNK(status.st_mode));
  REQUIRE(::lstat((out + "/model/sub").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0710);
  CHECK(read_file(out + "/model/sub/deep/file").value_or("") == "deep");
}

TEST_CASE("results: they are whose they shall be, with the folders that were made for them") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  bench.put("algo-1/model/sub/file", "1");
  bench.put("algo-1/output/data/x", "1");
  REQUIRE(::symlink("/etc/passwd", (bench.path + "/algo-1/model/link").c_str()) == 0);
  REQUIRE(make_folders(bench.path + "/mine"));
  const std::string out = bench.path + "/mine/new/out";
  REQUIRE(merge_results({{"algo-1", bench.path + "/algo-1"}}, out, {.owner = Owner{1234, 5678}}));
  struct stat status {};
  for (const char* name :
       {"/..", "", "/model", "/model/sub", "/model/sub/file", "/model/link", "/output/data/x"}) {
    CAPTURE(name);
    REQUIRE(::lstat((out + name).c_str(), &status) == 0);
    CHECK(status.st_uid == 1234);
    CHECK(status.st_gid == 5678);
  }
  REQUIRE(::stat((bench.path + "/mine").c_str(), &status) == 0);
  CHECK(status.st_uid == 0);
  REQUIRE(::stat("/etc/passwd", &status) == 0);
  CHECK(status.st_uid == 0);
}

TEST_CASE("results: the owner of the output folder cannot redirect the merge") {
  Bench bench;
  const std::string out = bench.path + "/out";
  REQUIRE(make_folders(bench.path + "/precious"));
  std::atomic<bool> over = false;
  std::thread swapper([&] {  // Replaces the hidden folder with a link as soon as it exists.
    for (int number = 0; !over;) {
      std::error_code none;
      for (const auto& entry : std::filesystem::directory_iterator(out, none)) {
        const std::string path = entry.path();
        if (path.find("/.muster-partial-") == std::string::npos || entry.is_symlink(none)) continue;
        const std::string away = bench.path + "/away-" + std::to_string(++number);
        if (::rename(path.c_str(), away.c_str()) == 0)
          static_cast<void>(!::symlink((bench.path + "/precious").c_str(), path.c_str()));
      }
    }
  });
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 5; ++i)
      bench.put("algo-" + std::to_string(i + 1) + "/model/f" + std::to_string(i), "x");
    static_cast<void>(bench.merge({"algo-1", "algo-2", "algo-3", "algo-4", "algo-5"}));
    static_cast<void>(remove_tree(out));
  }
  over = true;
  swapper.join();
  CHECK(std::filesystem::is_empty(bench.path + "/precious"));
}

TEST_CASE("results: they go through no link of another user's, also not one that came later") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root");
    return;
  }
  Bench bench;
  REQUIRE(make_folders(bench.path + "/precious/model"));
  REQUIRE(::symlink("precious", (bench.path + "/out").c_str()) == 0);
  REQUIRE(::lchown((bench.path + "/out").c_str(), 4321, 4321) == 0);
  for (const char* place : {"/out", "/out/new"}) {
    CAPTURE(place);
    const std::string start =
        "output: " + bench.path + "/out: this symbolic link belongs to user 4321";
    CHECK(check_output_folder(bench.path + place, true).error().text.starts_with(start));
    bench.put("algo-1/model/a", "1");
    const Result<Merged> merged = merge_results({{"algo-1", bench.path + "/algo-1"}},
                                                bench.path + place, {.overwrite = true});
    REQUIRE(!merged);
    CHECK(merged.error().text.starts_with(start));
  }
  CHECK(std::filesystem::is_empty(bench.path + "/precious/model"));
  CHECK(std::distance(std::filesystem::directory_iterator(bench.path + "/precious"), {}) == 1);
}

TEST_CASE("results: a job without any file makes no folder unless one was asked for") {
  Bench bench;
  REQUIRE(make_folders(bench.path + "/algo-1/model"));
  REQUIRE(make_folders(bench.path + "/algo-1/output/data"));
  bench.put("algo-1/output/success", "");
  const Result<Merged> none = bench.merge({"algo-1"}, false, true);
  REQUIRE(none);
  CHECK(!none->written);
  CHECK(!bench.has("out"));
  REQUIRE(bench.merge({"algo-1", "algo-2"}));
  CHECK(bench.has("out/model"));
  CHECK(bench.has("out/output"));
}

TEST_CASE(
    "results: the output folder must be new or empty; what a killed run left does not count") {
  Bench bench;
  CHECK(check_output_folder(bench.path + "/new/folder", false));
  REQUIRE(make_folders(bench.path + "/out/.muster-partial-abc123"));
  CHECK(check_output_folder(bench.path + "/out", false));
  bench.put("algo-1/model/a", "1");
  REQUIRE(bench.merge({"algo-1"}));
  CHECK(!bench.has("out/.muster-partial-abc123"));
  const Result<void> full = check_output_folder(bench.path + "/out", false);
  REQUIRE(!full);
  CHECK(full.error().code == Errc::invalid_input);
  CHECK(full.error().text == "output: " + bench.path +
                                 "/out contains an earlier job's results; replace them with "
                                 "--overwrite, or choose an empty or new folder");
  bench.put("file", "");
  CHECK(!check_output_folder(bench.path + "/file", false));
  CHECK(!check_output_folder(bench.path + "/file/below", true));
}

TEST_CASE("results: an earlier job's are replaced as a whole, if requested") {
  Bench bench;
  bench.put("algo-1/model/a", "1");
  bench.put("algo-1/output/failure", "why");
  bench.put("algo-1/model/same", "1");
  bench.put("algo-2/model/same", "2");
  REQUIRE(bench.merge({"algo-1", "algo-2"}, true));
  CHECK(bench.has("out/failure"));
  CHECK(bench.has("out/conflicts"));
  CHECK(check_output_folder(bench.path + "/out", true));
  bench.put("algo-1/model/b", "new");
  REQUIRE(bench.merge({"algo-1"}, false, false, true));
  CHECK(bench.text("model/b") == "new");
  for (const char* gone : {"out/model/a", "out/failure", "out/conflicts"}) {
    CAPTURE(gone);
    CHECK(!bench.has(gone));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(bench.path + "/out"), {}) == 2);
  bench.put("out/mine.txt", "");
  const Result<void> foreign = check_output_folder(bench.path + "/out", true);
  REQUIRE(!foreign);
  CHECK(foreign.error().text.find("/out contains mine.txt, which is not a job's result") !=
        std::string::npos);
  CHECK(check_output_folder(bench.path + "/out", false)
            .error()
            .text.ends_with("is not empty; choose an empty or new folder"));
}

TEST_CASE("results: a folder that cannot be made or written to is refused before the job") {
  Bench bench;
  REQUIRE(::symlink("nowhere", (bench.path + "/dangling").c_str()) == 0);
  for (const std::string& path :
       {std::string("/proc/muster/out"), std::string("/sys/muster"), bench.path + "/dangling"}) {
    CAPTURE(path);
    const Result<void> refused = check_output_folder(path, false);
    REQUIRE(!refused);
    CHECK(refused.error().text.starts_with("output: "));
  }
}

TEST_CASE("results: where one part cannot be put in place, no part stays, the path is a person's") {
  Bench bench;
  bench.put("algo-1/model/a", "1");
  bench.put("algo-1/output/data/x", "1");
  bench.put("out/output/other", "was there before");
  const Result<Merged> merged = bench.merge({"algo-1"});
  REQUIRE_FALSE(merged);
  CHECK(merged.error().code == Errc::system);
  CHECK(merged.error().text ==
        "output: cannot create " + bench.path + "/out/output: Directory not empty");
  CHECK(!bench.has("out/model"));
  CHECK(bench.text("output/other") == "was there before");
  CHECK(std::distance(std::filesystem::directory_iterator(bench.path + "/out"), {}) == 1);
}

TEST_CASE("results: no mark means no failure text, and neither does a mark that is not a file") {
  Bench bench;
  bench.put("algo-1/output/failure/inside", "a folder");
  bench.put("algo-2/output/data/x", "2");
  const Result<Merged> merged = bench.merge({"algo-1", "algo-2"}, true);
  REQUIRE(merged);
  CHECK(merged->failure_files.empty());
  CHECK(!bench.has("out/failure"));
  CHECK(!bench.has("out/output/failure"));
}

TEST_CASE("results: of a job that only left why it failed that is kept") {
  Bench bench;
  bench.put("algo-1/output/failure", "why");
  const Result<Merged> merged = bench.merge({"algo-1"}, true, true);
  REQUIRE(merged);
  CHECK(merged->written);
  CHECK(bench.text("failure/algo-1") == "why");
}

TEST_CASE("results: an invalid output folder is named, and no results are consumed") {
  Bench bench;
  bench.put("file", "");
  bench.put("algo-1/model/a", "1");
  const std::vector<engine::HostResult> hosts{{"algo-1", bench.path + "/algo-1"}};
  for (const char* place : {"/file", "/file/below"}) {
    CAPTURE(place);
    const Result<Merged> merged = merge_results(hosts, bench.path + place, {});
    REQUIRE_FALSE(merged);
    CHECK(merged.error().text.find(bench.path + "/file") != std::string::npos);
  }
  CHECK(bench.has("algo-1/model/a"));
  REQUIRE(::symlink("/none", (bench.path + "/dangling").c_str()) == 0);
  CHECK(check_output_folder(bench.path + "/dangling", false).error().text ==
        "output: cannot open " + bench.path + "/dangling: No such file or directory");
  CHECK(check_output_folder(bench.path + "/file/below", false).error().text ==
        "output: " + bench.path + "/file is not a folder");
}

/// Folders in each other, more than any path can name.
void make_deep(const std::string& folder) {
  REQUIRE(make_folders(folder));
  const std::string name(200, 'd');
  Fd at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 25; ++depth) {
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0700) == 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
}

TEST_CASE("results: two trees that are too deep to be merged are an error, and nothing stays") {
  Bench bench;
  for (const char* host : {"/algo-1", "/algo-2"}) make_deep(bench.path + host + "/model");
  const Result<Merged> merged = bench.merge({"algo-1", "algo-2"});
  REQUIRE_FALSE(merged);
  CHECK(merged.error().text.starts_with("output: "));
  CHECK(merged.error().text.ends_with("File name too long"));
  CHECK(std::filesystem::is_empty(bench.path + "/out"));
}

TEST_CASE("results: the log is complete or missing, and replaces an earlier one") {
  Bench bench;
  bench.put("algo-1/model/a", "1");
  MergeOptions options;
  options.write_log = [](const std::string& folder) {
    return write_file(folder + "/all.log", "lines");
  };
  const std::vector<engine::HostResult> hosts{{"algo-1", bench.path + "/algo-1"}};
  REQUIRE(merge_results(hosts, bench.path + "/out", options));
  CHECK(bench.text("log/all.log") == "lines");
  CHECK(!check_output_folder(bench.path + "/out", false));
  CHECK(check_output_folder(bench.path + "/out", true));
  options.overwrite = true;
  options.write_log = [](const std::string&) -> Result<void> {
    return fail(Errc::system, "no room");
  };
  REQUIRE(!merge_results(hosts, bench.path + "/out", options));
  CHECK(bench.text("log/all.log") == "lines");
}

}  // namespace
}  // namespace muster::platform
