#include "host/code/deliver.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "net/loop/testing.h"
#include "os/packing/testing.h"

using namespace muster;
using namespace muster::code;

namespace {

using Files = std::map<std::string, std::string>;

struct Delivery {
  Delivery() { std::filesystem::create_directories(scratch.path + "/tmp"); }

  Result<DeliverReport> run(const std::string& uri) {
    loop::Loop loop;
    std::optional<Result<DeliverReport>> result;
    const Log log(pipe.write.get(), "train", Log::Level::info);
    const auto body = [](loop::Loop& on, Delivery& own, std::string from, const Log& to,
                         std::optional<Result<DeliverReport>>& out) -> loop::Task<void> {
      const Env env = {{"TMPDIR", own.scratch.path + "/tmp"}};
      Download download = [&own](std::string what, std::string path) {
        return own.fetch(std::move(what), std::move(path));
      };
      out = co_await deliver(on, env, from, own.code, to, download);
    };
    loop::run_task(loop, body(loop, *this, uri, log, result));
    return *result;
  }
  loop::Task<Result<void>> fetch(std::string uri, std::string path) {
    fetched.push_back(uri);
    if (object.empty()) co_return fail(Errc::not_found, uri + ": no such key");
    packing::put_file(path, object);
    co_return Result<void>();
  }
  std::string logged() {
    pipe.write.reset();
    std::string text(8192, '\0');
    const ssize_t got = ::read(pipe.read.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  packing::Scratch scratch;
  std::string code = scratch.path + "/opt/ml/code";
  std::string source = scratch.path + "/source";
  std::string object;  ///< What the store has.
  std::vector<std::string> fetched;
  Pipe pipe = *make_pipe();
};

std::string text_of(const Result<DeliverReport>& report) {
  return report ? "delivered" : report.error().text;
}

}  // namespace

TEST_CASE("source: a URI is one of five kinds, or an error that says what is expected") {
  const std::string tar = packing::Tar().file("a", "x").bytes().substr(0, 512);
  struct {
    std::string uri;
    Local local;
    std::string head;
    Source want;
  } const good[] = {
      {"s3://bucket/a/sourcedir.tar.gz", Local::missing, "", Source::s3_archive},
      {"s3://b/k", Local::folder, "", Source::s3_archive},
      {"/opt/ml/code", Local::folder, "", Source::code_folder},
      {"/opt/ml/code/", Local::missing, "", Source::code_folder},
      {"/src", Local::folder, "", Source::folder},
      {"src.tar.gz", Local::folder, "", Source::folder},
      {"a.bin", Local::file, "\x1f\x8b\x08", Source::archive},
      {"a.tar.gz", Local::file, "", Source::archive},
      {"a.bin", Local::file, tar, Source::archive},
      {"train.py", Local::file, "import os", Source::file},
      {"zeros", Local::file, std::string(512, '\0'), Source::file},
  };
  for (const auto& c : good) {
    CAPTURE(c.uri);
    const Result<Source> got = source_of(c.uri, "/opt/ml/code", c.local, c.head);
    REQUIRE(got);
    CHECK(*got == c.want);
  }
  struct {
    std::string uri;
    Local local;
    Errc code;
    std::string want;
  } const bad[] = {
      {"", Local::missing, Errc::invalid_input, "sagemaker_submit_directory is empty"},
      {"s3://bucket", Local::missing, Errc::invalid_input, "expected s3://BUCKET/KEY"},
      {"s3://bucket/", Local::missing, Errc::invalid_input, "expected s3://BUCKET/KEY"},
      {"s3:///key", Local::missing, Errc::invalid_input, "expected s3://BUCKET/KEY"},
      {"s3://bucket/folder/", Local::missing, Errc::invalid_input, "ends with '/'"},
      {"https://user:word@host/x", Local::missing, Errc::invalid_input, "https://…: code must be"},
      {"/nowhere", Local::missing, Errc::not_found, "/nowhere: no such file or folder"},
      {"s3://b/source.zip", Local::missing, Errc::invalid_input, "does not support zip archives"},
      {"/src/source.zip", Local::file, Errc::invalid_input, "tar czf sourcedir.tar.gz"},
      {"/dev/null", Local::other, Errc::invalid_input, "/dev/null: neither"},
  };
  for (const auto& c : bad) {
    CAPTURE(c.uri);
    const Result<Source> got = source_of(c.uri, "/opt/ml/code", c.local, "");
    REQUIRE(!got);
    CHECK(got.error().code == c.code);
    CHECK(got.error().text.find(c.want) != std::string::npos);
  }
}

TEST_CASE("deliver: a local folder is copied, links followed and permissions kept") {
  Delivery delivery;
  packing::put_file(delivery.source + "/train.py", "x");
  packing::put_file(delivery.source + "/ro/data", std::string(3'000'000, 'd'));
  packing::put_file(delivery.scratch.path + "/elsewhere", "e");
  ::chmod((delivery.source + "/train.py").c_str(), 04751);
  ::chmod((delivery.source + "/ro").c_str(), 0555);
  std::filesystem::create_symlink("../elsewhere", delivery.source + "/link");
  std::filesystem::create_symlink("ro", delivery.source + "/folder-link");
  const Result<DeliverReport> report = delivery.run(delivery.source);
  REQUIRE_MESSAGE(report, text_of(report));
  CHECK(report->delivered);
  CHECK(report->source == Source::folder);
  Files got = packing::snapshot(delivery.code);
  CHECK(got["train.py"] == "file 751 x");
  CHECK(got["link"] == "file 644 e");
  CHECK(got["folder-link"] == "folder 555");
  CHECK(std::filesystem::file_size(delivery.code + "/ro/data") == 3'000'000);
  CHECK(got.size() == 6);
}

TEST_CASE("deliver: code that is there stays, and nothing is fetched") {
  Delivery delivery;
  packing::put_file(delivery.code + "/mine", "x");
  for (const std::string uri : {"s3://bucket/key", "/nowhere", ""}) {
    const Result<DeliverReport> report = delivery.run(uri);
    REQUIRE_MESSAGE(report, text_of(report));
    CHECK(!report->delivered);
  }
  CHECK(delivery.fetched.empty());
  CHECK(packing::snapshot(delivery.code) == Files{{"mine", "file 644 x"}});
}

TEST_CASE("deliver: an empty code folder is left unchanged") {
  Delivery delivery;
  const Result<DeliverReport> report = delivery.run(delivery.code + "/");
  REQUIRE(report);
  CHECK(!report->delivered);
  CHECK(std::filesystem::is_directory(delivery.code));
}

TEST_CASE("deliver: a local archive is unpacked, a single file copied") {
  Delivery delivery;
  packing::put_file(delivery.source + "/code.bin",
                    packing::gzipped(packing::Tar().file("a", "x").file("../b", "y").bytes()));
  REQUIRE(delivery.run(delivery.source + "/code.bin"));
  CHECK(packing::snapshot(delivery.code) == Files{{"a", "file 644 x"}, {"b", "file 644 y"}});
  CHECK(delivery.logged().find("'../b' unpacked as 'b'") != std::string::npos);

  Delivery other;
  packing::put_file(other.source + "/train.py", "x");
  REQUIRE(other.run(other.source + "/train.py"));
  CHECK(packing::snapshot(other.code) == Files{{"train.py", "file 644 x"}});
}

TEST_CASE("deliver: an archive of the store is fetched to a private place and unpacked") {
  Delivery delivery;
  delivery.object = packing::gzipped(packing::Tar().file("a", "x").bytes());
  const Result<DeliverReport> report = delivery.run("s3://bucket/sourcedir.tar.gz");
  REQUIRE_MESSAGE(report, text_of(report));
  CHECK(report->unpacked.files == 1);
  CHECK(delivery.fetched == std::vector<std::string>{"s3://bucket/sourcedir.tar.gz"});
  CHECK(packing::snapshot(delivery.code) == Files{{"a", "file 644 x"}});
  CHECK(packing::snapshot(delivery.scratch.path + "/tmp").empty());
}

TEST_CASE("deliver: a failure is one line, and the code folder stays empty") {
  Delivery delivery;
  packing::put_file(delivery.source + "/cut.tar.gz",
                    packing::gzipped(packing::Tar().file("a", "x").bytes()).substr(0, 40));
  CHECK(text_of(delivery.run(delivery.source + "/cut.tar.gz")) ==
        "cut.tar.gz: the file ends in the middle of its gzip data");
  CHECK(text_of(delivery.run("s3://bucket/key")) == "s3://bucket/key: no such key");
  delivery.object = "no archive";
  CHECK(text_of(delivery.run("s3://bucket/key")).starts_with("s3://bucket/key: not a tar"));
  CHECK(packing::snapshot(delivery.scratch.path + "/tmp").empty());
  CHECK(text_of(delivery.run("/dev/null")) == "/dev/null: neither a file nor a folder");

  const std::string folder = delivery.scratch.path + "/folder";
  packing::put_file(folder + "/a", "x");
  std::filesystem::create_symlink("gone", folder + "/link");
  CHECK(text_of(delivery.run(folder)) ==
        "cannot open " + folder + "/link: No such file or directory");
  std::filesystem::remove(folder + "/link");
  std::filesystem::create_symlink(".", folder + "/link");
  CHECK(text_of(delivery.run(folder))
            .find(": this link points to a folder that is itself being copied") !=
        std::string::npos);
  std::filesystem::remove(folder + "/link");
  REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0600) == 0);
  CHECK(text_of(delivery.run(folder)) == folder + "/pipe: neither a file nor a folder");
  std::filesystem::remove_all(folder);
  CHECK(text_of(delivery.run(delivery.scratch.path))
            .find(": this link points to a folder that is itself being copied") !=
        std::string::npos);
  CHECK(packing::snapshot(delivery.code).empty());
}

TEST_CASE("deliver: an unreadable file is named by its path") {
  Delivery delivery;
  packing::put_file(delivery.source + "/closed/a", "x");
  ::chmod((delivery.source + "/closed").c_str(), 0);
  const bool reads_all = ::access((delivery.source + "/closed/a").c_str(), F_OK) == 0;
  if (reads_all && ::setegid(65534) == 0 && ::seteuid(65534) == 0) {
    // Root can read everything: run as an unprivileged user for a moment, with a separate code
    // folder.
    REQUIRE(::seteuid(0) == 0);
    std::filesystem::create_directories(delivery.code);
    std::filesystem::permissions(delivery.scratch.path, std::filesystem::perms(0755));
    REQUIRE(::chown(delivery.code.c_str(), 65534, 65534) == 0);
    REQUIRE(::seteuid(65534) == 0);
  } else if (reads_all) {
    MESSAGE("skipped: this user reads everything");
    return;
  }
  const std::string text = text_of(delivery.run(delivery.source));
  if (reads_all) CHECK((::seteuid(0) == 0 && ::setegid(0) == 0));
  CHECK(text == "cannot open " + delivery.source + "/closed: Permission denied");
  CHECK(packing::snapshot(delivery.code).empty());
  ::chmod((delivery.source + "/closed").c_str(), 0700);
}
