#include "server/bucket/span_budget.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/text.h"
#include "server/bucket/bucket_store.h"
#include "server/bucket/bucket_uploads.h"

using namespace muster;
using namespace muster::bucket;

namespace {

constexpr std::uint64_t mib = 1 << 20;

/// A bucket with objects, and a budget for "job/" and the object "job" in it.
struct Lab {
  Lab() {
    path = *make_private_folder("/tmp", "muster-budget-");
    open();
    REQUIRE(*store->create("bucket", UnixMillis(1000)));
    bucket = store->find("bucket");
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() { std::filesystem::remove_all(path); }
  void open() {
    bucket.reset();
    store.reset();
    store = *BucketStore::open(path + "/s3");
    bucket = store->find("bucket");
  }
  void limit(Amount most) {
    budget = std::make_shared<Budget>(most);
    REQUIRE(bucket->index());
    bucket->count(budget, {{"job/", true}, {"job", false}, {"job/in/it/", true}});
  }
  std::string put(const std::string& key, std::size_t bytes) {
    Hold hold;
    bucket->hold(hold, budget, key);
    if (const auto held = hold.grow(bytes); !held) return held.error().code;
    Draft draft = bucket->draft();
    REQUIRE(draft.add(std::string(bytes, 'x')));
    ObjectRecord record;
    record.key = key;
    const Result<WriteEnd> end = bucket->put(std::move(draft), record, {}, &hold);
    REQUIRE(end);
    return "put";
  }
  std::string put_part(const std::string& id, int number, std::size_t bytes) {
    Hold hold;
    bucket->upload_index().hold(hold, budget, id, number);
    if (const auto held = hold.grow(bytes); !held) return held.error().code;
    Draft draft = bucket->draft();
    REQUIRE(draft.add(std::string(bytes, 'x')));
    ObjectRecord record;
    record.etag = "00";
    const Result<bool> put =
        BucketUploads(*bucket).put_part(id, number, std::move(draft), record, &hold);
    REQUIRE(put);
    return *put ? "put" : "gone";
  }
  std::string begin(const std::string& key, const std::string& owner = "") {
    Hold hold;
    hold.begin(budget, "upload", std::nullopt);
    if (const auto held = hold.grow(0); !held) return held.error().code;
    ObjectRecord record;
    record.key = key;
    record.id = owner;
    return *BucketUploads(*bucket).begin(record, &hold);
  }
  Result<ObjectRecord, aws::Refusal> complete(const std::string& id, const std::string& key,
                                              int parts) {
    BucketUploads::Asked asked;
    asked.id = id;
    asked.key = key;
    for (int i = 1; i <= parts; ++i) asked.parts.push_back({i, "00", {}});
    return BucketUploads(*bucket).complete(asked);
  }
  std::string used() const {
    const Amount there = budget->used();
    return std::to_string(there.bytes) + " in " + std::to_string(there.files);
  }

  std::string path;
  std::unique_ptr<BucketStore> store;
  std::shared_ptr<Bucket> bucket;
  std::shared_ptr<Budget> budget;
};

}  // namespace

TEST_CASE("budget: every object in its places counts once, no matter how it was stored") {
  Lab lab;
  CHECK(lab.put("job/before", 10) == "put");
  CHECK(lab.put("jobs/other", 1000) == "put");
  CHECK(lab.put("job", 5) == "put");
  lab.limit({100, 4});
  CHECK(lab.used() == "15 in 2");
  CHECK(lab.put("job/in/it/a", 80) == "put");
  CHECK(lab.put("job/b", 6) == "QuotaExceeded");
  CHECK(lab.put("job/in/it/a", 85) == "put");  // An overwrite counts once.
  CHECK(lab.used() == "100 in 3");
  CHECK(lab.put("job/empty", 0) == "put");
  CHECK(lab.put("job/another", 0) == "QuotaExceeded");
  CHECK(lab.put("job/empty", 0) == "put");
  REQUIRE(lab.bucket->remove("job/before", {}));
  CHECK(lab.used() == "90 in 3");
  CHECK(lab.put("jobs/other", 10) == "put");
  CHECK(lab.used() == "90 in 3");
}

TEST_CASE("budget: the refusal has the figures, and a code that clients do not retry") {
  Lab lab;
  lab.limit({10 * mib, 2});
  CHECK(lab.put("job/a", 9 * mib) == "put");
  Hold hold;
  lab.bucket->hold(hold, lab.budget, "job/b");
  const auto bytes = hold.grow(2 * mib);
  REQUIRE(!bytes);
  CHECK(bytes.error().status == 403);
  CHECK(
      bytes.error().message ==
      "The S3 quota of this job's key is 10.0 MiB, of which 9.0 MiB is used; this request "
      "requires 2.0 MiB "
      "more. "
      "Delete objects, request a larger VolumeSizeInGB, or have the admin raise jobs.s3_budget_gib "
      "in the server's config.");
  CHECK(lab.put("job/b", 0) == "put");
  Hold third;
  lab.bucket->hold(third, lab.budget, "job/c");
  const auto files = third.grow(0);
  REQUIRE(!files);
  CHECK(files.error().message.find("2 objects and parts of uploads, all of which are used") !=
        std::string::npos);
}

TEST_CASE("budget: writes on their way count, and of those to one key only the first replaces") {
  Lab lab;
  lab.limit({100, 10});
  CHECK(lab.put("job/a", 60) == "put");
  {
    Hold first, second, other;
    lab.bucket->hold(first, lab.budget, "job/a");
    lab.bucket->hold(second, lab.budget, "job/a");
    lab.bucket->hold(other, lab.budget, "job/b");
    CHECK(first.grow(60));
    CHECK(!second.grow(41));
    CHECK(second.grow(40));
    CHECK(!other.grow(1));
    // What it was to replace goes: its own bytes count now.
    REQUIRE(lab.bucket->remove("job/a", {}));
    CHECK(!other.grow(1));
  }
  CHECK(lab.used() == "0 in 0");
  CHECK(lab.put("job/b", 100) == "put");
}

TEST_CASE("budget: open uploads and their parts count, and once when they become an object") {
  Lab lab;
  lab.limit({16 * mib, 5});
  const std::string id = lab.begin("job/big");
  CHECK(lab.put_part(id, 1, 6 * mib) == "put");
  CHECK(lab.put_part(id, 1, 5 * mib) == "put");  // Another part 1 counts once.
  CHECK(lab.put_part(id, 2, 5 * mib) == "put");
  CHECK(lab.used() == "10485760 in 3");
  CHECK(lab.put_part(id, 3, 7 * mib) == "QuotaExceeded");
  // Parts and object together would be more than fits, but are never counted so.
  REQUIRE(lab.complete(id, "job/big", 2));
  CHECK(lab.used() == "10485760 in 2");
  CHECK(lab.put_part(id, 3, 1) == "gone");
  const std::string next = lab.begin("job/big");
  CHECK(lab.put_part(next, 1, 1) == "put");
  CHECK(lab.begin("job/c").size() == 32);
  CHECK(lab.begin("job/d") == "QuotaExceeded");
  CHECK(*BucketUploads(*lab.bucket).abort(next, "job/big"));
  CHECK(lab.used() == "10485760 in 3");
}

TEST_CASE("budget: a complete that is refused leaves the parts, counted") {
  Lab lab;
  lab.limit({0, 0});
  const std::string id = lab.begin("job/big");
  CHECK(lab.put_part(id, 1, 10) == "put");
  BucketUploads::Asked asked;
  asked.id = id;
  asked.key = "job/big";
  asked.parts = {{1, "00", {}}};
  asked.check = [](const ObjectRecord*) { return WriteEnd::precondition_failed; };
  CHECK(!BucketUploads(*lab.bucket).complete(asked));
  CHECK(lab.used() == "10 in 2");
  REQUIRE(lab.complete(id, "job/big", 1));
  CHECK(lab.used() == "10 in 2");
}

TEST_CASE("budget: uploads of an owner go together, and are counted after a restart too") {
  Lab lab;
  lab.limit({0, 0});
  const std::string mine = lab.begin("job/mine", "MINE");
  const std::string other = lab.begin("job/other", "OTHER");
  const std::string done = lab.begin("job/done", "MINE");
  CHECK(lab.put_part(mine, 1, 10) == "put");
  CHECK(lab.put_part(other, 1, 10) == "put");
  CHECK(lab.put_part(done, 1, 10) == "put");
  REQUIRE(lab.complete(done, "job/done", 1));
  lab.open();
  lab.limit({0, 0});
  CHECK(lab.budget->used().files == 6);
  CHECK(lab.bucket->upload_index().owners() == std::vector<std::string>{"MINE", "OTHER"});
  REQUIRE(BucketUploads(*lab.bucket).abort_all_of("MINE"));
  CHECK(lab.bucket->upload_index().owners() == std::vector<std::string>{"OTHER"});
  CHECK(lab.budget->used().files == 4);
  CHECK(!std::filesystem::exists(lab.path + "/s3/bucket/uploads/" + mine));
  CHECK(lab.put_part(mine, 2, 10) == "gone");
  CHECK(lab.put_part(other, 2, 10) == "put");
}

TEST_CASE("draft: a minimum of the disk stays free, also counting announced bytes") {
  Lab lab;
  constexpr std::uint64_t all = std::uint64_t{1} << 60;
  {
    Draft draft = lab.bucket->draft(all);
    CHECK(draft.expect(200 << 10).error().code == Errc::closed);
  }
  Draft longer = lab.bucket->draft(all);
  REQUIRE(longer.add(std::string(100 << 10, 'x')));
  const Result<void> added = longer.add(std::string(100 << 10, 'x'));
  REQUIRE(!added);
  const aws::Refusal refusal = disk_failure(added.error());
  CHECK(refusal.status == 507);
  CHECK(refusal.message.starts_with("The server's disk is full: "));
  CHECK(refusal.message.ends_with(" is free, but 1048576.0 TiB must stay free."));
  Draft small = lab.bucket->draft(all);
  REQUIRE(small.add("x"));
  CHECK(small.seal({}).error().code == Errc::closed);
}
