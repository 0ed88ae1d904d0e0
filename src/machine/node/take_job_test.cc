#include "machine/node/take_job.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "base/json.h"

namespace muster::node {
namespace {

struct Place {
  Place() : folder(*make_private_folder("/tmp", "muster-take-")), file(folder + "/job.json") {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { static_cast<void>(remove_tree(folder)); }
  bool is_there() const { return ::access(file.c_str(), F_OK) == 0; }
  std::string folder;
  std::string file;
};

std::string text() {
  job::NodeJob job;
  job.nonce = "0123456789abcdef";
  job.key = job.job_key = std::string(32, 'k');
  job.addresses = {"10.0.0.1"};
  job.port = 1;
  job.folder = "/tmp/x";
  job.spec.name = "demo";
  return to_text(job::to_json(job));
}

TEST_CASE("node: the file is read and removed, even if its content is invalid") {
  const Place place;
  REQUIRE(write_file(place.file, text(), 0600));
  const Result<job::NodeJob> job = take_job(place.file);
  REQUIRE(job);
  CHECK(job->spec.name == "demo");
  CHECK(!place.is_there());
  REQUIRE(write_file(place.file, "{}", 0400));
  const Result<job::NodeJob> wrong = take_job(place.file);
  CHECK(wrong.error().text.starts_with(place.file + ": nonce: "));
  CHECK(!place.is_there());
  CHECK(take_job(place.file).error().code == Errc::not_found);
  REQUIRE(write_file(place.file, "", 0600));
  REQUIRE(::truncate(place.file.c_str(), job::node_job_bytes_max + 1) == 0);
  CHECK(take_job(place.file).error().text.find("16 MiB") != std::string::npos);
}

TEST_CASE("node: a file that others may have written or read is refused, and stays") {
  const Place place;
  for (const unsigned mode : {0604u, 0640u, 0620u, 0666u}) {
    CAPTURE(mode);
    REQUIRE(write_file(place.file, text(), mode));
    REQUIRE(::chmod(place.file.c_str(), mode) == 0);
    CHECK(take_job(place.file).error().code == Errc::denied);
    CHECK(place.is_there());
  }
  REQUIRE(::unlink(place.file.c_str()) == 0);
  REQUIRE(write_file(place.folder + "/other", text(), 0600));
  REQUIRE(::symlink("other", place.file.c_str()) == 0);
  CHECK(!take_job(place.file));
  CHECK(::access((place.folder + "/other").c_str(), F_OK) == 0);
  REQUIRE(::unlink(place.file.c_str()) == 0);
  REQUIRE(::mkfifo(place.file.c_str(), 0600) == 0);
  CHECK(take_job(place.file).error().code == Errc::denied);
  CHECK(take_job(place.folder).error().code == Errc::denied);
  if (::geteuid() != 0) return;  // Only root can give a file away.
  REQUIRE(::unlink(place.file.c_str()) == 0);
  REQUIRE(write_file(place.file, text(), 0600));
  REQUIRE(::chown(place.file.c_str(), 65534, 65534) == 0);
  CHECK(take_job(place.file).error().code == Errc::denied);
}

}  // namespace
}  // namespace muster::node
