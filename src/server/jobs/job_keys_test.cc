#include "server/jobs/job_keys.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"
#include "server/store/sqlite.h"

namespace muster::jobs {
namespace {

/// The keys of one job, in the store and on the ring.
struct Bench {
  Bench() {
    REQUIRE(store.submit({"a", "arn:a", "{}", {}, wall_time(), ""}));
    spec.name = "a";
    spec.s3_output = "s3://b/out";
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { static_cast<void>(remove_tree(home)); }

  JobKeys keys() {
    const JobKeys::FreshKey fresh = [this] {
      store::AccessKey key;
      key.id = "JOBKEY" + std::to_string(++keys_made);
      key.secret = "a-secret-of-the-test";
      return key;
    };
    return JobKeys(store, ring, folder, fresh, read_manifest);
  }
  Result<aws::Credentials> open() { return keys().open(job(), spec, ""); }
  Result<void> reopen() { return keys().reopen(job(), spec, ""); }
  store::Job job() { return **store.job("a"); }
  /// What a disk does to the store's file is done by another connection.
  void alter(const std::string& statements) {
    REQUIRE((*store::Database::open(store.path()))->run(statements));
  }

  std::string home = *make_private_folder("/tmp", "muster-job-keys-");
  std::string folder = home + "/keys";
  store::Store store = *store::Store::open(home + "/store.db");
  access::KeyRing ring;
  ReadManifest read_manifest;
  job::Spec spec;
  int keys_made = 0;
};

constexpr const char* no_keys = "ALTER TABLE access_keys RENAME TO gone";

TEST_CASE("job keys: a key that is in the store is used again, and only that") {
  Bench bench;
  REQUIRE(bench.reopen());  // The job has none yet.
  CHECK(bench.keys_made == 0);
  REQUIRE(bench.store.put_note("a", "LOST"));
  REQUIRE(bench.reopen());
  CHECK(bench.keys_made == 0);
  CHECK(bench.open()->access_key == "JOBKEY1");
  CHECK(bench.job().note == "JOBKEY1");
  CHECK(bench.open()->access_key == "JOBKEY1");
  CHECK(bench.keys_made == 2);  // One for the results.
  bench.keys().revoke("a");
  CHECK(bench.ring.find("JOBKEY1") == nullptr);
  REQUIRE(bench.reopen());
  CHECK(bench.ring.find("JOBKEY1") != nullptr);
  CHECK(bench.ring.find("JOBKEY2") != nullptr);
}

TEST_CASE("job keys: a job without results in S3 has no key for them") {
  Bench bench;
  bench.spec.s3_output.clear();
  REQUIRE(bench.open());
  CHECK(bench.keys_made == 1);
  CHECK(::access(bench.keys().file("a").c_str(), F_OK) == 0);
  CHECK(::access(bench.keys().results_file("a").c_str(), F_OK) != 0);
}

TEST_CASE("job keys: a store that fails gives no key") {
  Bench bench;
  SUBCASE("a new key") {
    bench.alter(no_keys);
  }
  SUBCASE("its place in the job") {
    bench.alter(
        "CREATE TRIGGER full BEFORE UPDATE OF note ON jobs BEGIN SELECT RAISE(ABORT, 'disk full'); "
        "END");
  }
  SUBCASE("a key that was made") {
    REQUIRE(bench.open());
    bench.keys().revoke("a");
    bench.alter(no_keys);
    const Result<void> reopened = bench.reopen();
    REQUIRE(!reopened);
    CHECK(reopened.error().code == Errc::system);
  }
  const Result<aws::Credentials> opened = bench.open();
  REQUIRE(!opened);
  CHECK(opened.error().code == Errc::system);
  CHECK(bench.ring.find("JOBKEY1") == nullptr);
}

TEST_CASE("job keys: files that cannot be written are named") {
  Bench bench;
  std::string named = bench.folder;
  SUBCASE("the folder") {
    REQUIRE(write_file(bench.folder, "a file", 0600));
  }
  SUBCASE("the key's file") {
    named += "/a";
    REQUIRE(make_folders(named + "/below", 0700));
  }
  SUBCASE("the file of the results' key") {
    named += "/a.results";
    REQUIRE(make_folders(named + "/below", 0700));
  }
  const Result<aws::Credentials> opened = bench.open();
  REQUIRE(!opened);
  CHECK(opened.error().text.find(named) != std::string::npos);
  const Result<void> reopened = bench.reopen();  // Writes the file of the results' key alone.
  CHECK(reopened.has_value() == (named == bench.folder + "/a"));
}

TEST_CASE("job keys: half a results' key is an error, and an empty file is written again") {
  Bench bench;
  REQUIRE(make_folders(bench.folder, 0700));
  const std::string path = bench.keys().results_file("a");
  REQUIRE(write_file(path, "[default]\naws_access_key_id = HALF\n", 0600));
  const Result<aws::Credentials> half = bench.open();
  REQUIRE(!half);
  CHECK(half.error().code == Errc::invalid_input);
  REQUIRE(write_file(path, "", 0600));
  REQUIRE(bench.open());
  CHECK(read_file(path)->find("aws_access_key_id = JOBKEY2\n") != std::string::npos);
}

TEST_CASE("job keys: places that cannot be named, or manifests that cannot be read, give no key") {
  Bench bench;
  job::InputChannel channel;
  channel.name = "train";
  channel.s3.url = "s3://b/m";
  channel.s3.manifest = true;
  channel.s3.etag = "tag1";
  bench.read_manifest = [](const s3wire::S3Url&) -> Result<ManifestObject> {
    return fail(Errc::system, "Input/output error");
  };
  bench.spec.input = {channel};
  CHECK(bench.open().error().code == Errc::system);
  CHECK(bench.reopen().error().text == "channel train: Input/output error");
  bench.spec.input[0].s3.url = "b/m";
  CHECK(bench.reopen().error().code == Errc::invalid_input);
  CHECK(bench.ring.find("JOBKEY1") == nullptr);
  bench.spec.input.clear();
  bench.spec.s3_output = "b/out";
  CHECK(bench.reopen().error().code == Errc::invalid_input);
  CHECK(bench.ring.find("JOBKEY2") == nullptr);  // The one for the results.
}

}  // namespace
}  // namespace muster::jobs
