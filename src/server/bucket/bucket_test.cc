#include "server/bucket/bucket.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/base64.h"
#include "base/text.h"
#include "server/bucket/bucket_store.h"
#include "server/bucket/bucket_uploads.h"

using namespace muster;
using namespace muster::bucket;

namespace {

/// A store in a folder of its own, which goes with it.
struct Lab {
  Lab() {
    path = *make_private_folder("/tmp", "muster-bucket-");
    open();
    REQUIRE(*store->create("bucket", UnixMillis(1000)));
    bucket = store->find("bucket");
  }
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab() { std::filesystem::remove_all(path); }
  /// As after a restart.
  void open() {
    bucket.reset();
    store.reset();
    store = *BucketStore::open(path + "/s3");
    bucket = store->find("bucket");
  }
  WriteEnd put(const std::string& key, const std::string& bytes, const WriteCheck& check = {}) {
    Draft draft = bucket->draft();
    REQUIRE(draft.add(bytes));
    ObjectRecord record;
    record.key = key;
    record.etag = "etag of " + bytes.substr(0, 8);
    record.modified = UnixMillis(5000);
    record.metadata.user = {{"a", "b"}};
    Result<WriteEnd> end = bucket->put(std::move(draft), record, check);
    REQUIRE(end);
    return *end;
  }
  std::string get(const std::string& key) {
    Result<std::optional<OpenedObject>> found = bucket->find(key, false);
    REQUIRE(found);
    if (!*found) return "(none)";
    std::string bytes((*found)->record.size, '\0');
    REQUIRE(::pread((*found)->file.get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  std::vector<std::string> keys(const s3wire::ListQuery& query = {}) {
    REQUIRE(bucket->index());
    std::vector<std::string> names;
    for (const s3wire::ListedObject& object : bucket->page(query).objects)
      names.push_back(object.key);
    return names;
  }

  std::string path;
  std::unique_ptr<BucketStore> store;
  std::shared_ptr<Bucket> bucket;
};

s3wire::ListQuery with_prefix(std::string prefix) {
  s3wire::ListQuery query;
  query.prefix = std::move(prefix);
  return query;
}

ObjectRecord full_record() {
  ObjectRecord record;
  record.key = "k\xC3\xA9y";
  record.id = "0123";
  record.size = 1234567890123;
  record.modified = UnixMillis(1700000000123);
  record.etag = "0cc175b9c0f1b6a831c399e269772661-2";
  record.metadata.headers = {{"content-type", "text/plain"}};
  record.metadata.user = {{"a", ""}, {"b", "c d"}};
  record.metadata.tags = {{"t", "v"}};
  record.checksum = s3wire::KeptChecksum{s3wire::Checksum::crc64nvme, "AAAAAAAAAAA=", false};
  record.parts = {{5 << 20, "abc="}, {1, ""}};
  return record;
}

}  // namespace

TEST_CASE("bucket: a record is parsed back from its bytes, and damage is found") {
  const ObjectRecord record = full_record();
  const std::string bytes = encode_record(record);
  REQUIRE(decode_record(bytes));
  CHECK(*decode_record(bytes) == record);
  CHECK(*record_bytes("data" + bytes) == bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    CHECK_FALSE(decode_record(damaged));
    CHECK_FALSE(decode_record(bytes.substr(0, i)));
  }
}

TEST_CASE("bucket: keys of all kinds stand side by side, and are there after a restart") {
  Lab lab;
  const std::vector<std::string> keys = {"foo",  "foo/", "foo/bar",       "..",
                                         "/",    "a//b", "\xC3\xBC & +?", std::string(1024, 'x'),
                                         ".tags"};
  for (const std::string& key : keys) CHECK(lab.put(key, "bytes of " + key) == WriteEnd::done);
  for (int start = 0; start < 2; ++start) {
    CAPTURE(start);
    for (const std::string& key : keys) CHECK(lab.get(key) == "bytes of " + key);
    std::vector<std::string> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    CHECK(lab.keys() == sorted);
    lab.open();
  }
}

TEST_CASE("bucket: objects of any length are read back, small ones in one read") {
  Lab lab;
  for (const std::size_t size : {0u, 1u, 32000u, 32768u, 131071u, 131073u, 3000000u}) {
    CAPTURE(size);
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 >> 3);
    CHECK(lab.put("k", bytes) == WriteEnd::done);
    CHECK(lab.get("k") == bytes);
    const Result<std::optional<OpenedObject>> found = lab.bucket->find("k", true);
    REQUIRE(found);
    CHECK((*found)->is_small == (size <= 32000));
    if ((*found)->is_small) CHECK((*found)->small == bytes);
    CHECK((*found)->record.metadata.user == aws::Pairs{{"a", "b"}});
  }
}

TEST_CASE("bucket: checks decide on writes, and an opened object stays unchanged") {
  Lab lab;
  const WriteCheck only_new = [](const ObjectRecord* present) {
    return present == nullptr ? WriteEnd::done : WriteEnd::precondition_failed;
  };
  CHECK(lab.put("k", "first", only_new) == WriteEnd::done);
  CHECK(lab.put("k", "second", only_new) == WriteEnd::precondition_failed);
  const Result<std::optional<OpenedObject>> opened = lab.bucket->find("k", false);
  CHECK(lab.put("k", "third") == WriteEnd::done);
  char bytes[5];
  CHECK(::pread((*opened)->file.get(), bytes, 5, 0) == 5);
  CHECK(std::string(bytes, 5) == "first");
  CHECK(lab.get("k") == "third");
  CHECK(*lab.bucket->remove("k", only_new) == WriteEnd::precondition_failed);
  CHECK(*lab.bucket->remove("k", {}) == WriteEnd::done);
  CHECK(lab.get("k") == "(none)");
  CHECK(lab.keys().empty());
}

TEST_CASE("bucket: tags that were set go with the object they were set on") {
  Lab lab;
  CHECK(*lab.bucket->set_tags("k", {{"a", "b"}}) == WriteEnd::no_such_key);
  lab.put("k", "one");
  CHECK(*lab.bucket->set_tags("k", {{"a", "b"}}) == WriteEnd::done);
  lab.open();
  CHECK((**lab.bucket->find("k", true)).record.metadata.tags == aws::Pairs{{"a", "b"}});
  CHECK(lab.keys() == std::vector<std::string>{"k"});
  lab.put("k", "two");
  CHECK((**lab.bucket->find("k", true)).record.metadata.tags.empty());
}

TEST_CASE("bucket: a crash's leftovers are neither listed nor read, and drafts are removed") {
  Lab lab;
  lab.put("whole", "bytes");
  REQUIRE(write_file(lab.path + "/s3/.temporary/half", "half of an object"));
  REQUIRE(write_file(lab.path + "/s3/bucket/temporary/half", "half of an object"));
  for (const auto& folder : std::filesystem::directory_iterator(lab.path + "/s3/bucket/objects"))
    REQUIRE(write_file(folder.path().string() + "/0123456789abcdef0123456789abcd", "torn"));
  lab.open();
  CHECK(lab.keys() == std::vector<std::string>{"whole"});
  CHECK_FALSE(std::filesystem::exists(lab.path + "/s3/.temporary/half"));
  CHECK_FALSE(std::filesystem::exists(lab.path + "/s3/bucket/temporary/half"));
}

TEST_CASE("bucket: if a power cut tore a new object, the one before it is restored") {
  Lab lab;
  lab.put("k", "old");
  std::string place;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(lab.path + "/s3/bucket/objects"))
    if (entry.is_regular_file()) place = entry.path().string();
  const std::string temporary = lab.path + "/s3/bucket/temporary/1";
  struct {
    const char* name;
    std::string torn;
  } const cases[] = {{"without bytes", ""}, {"with zeros", std::string(100, '\0')}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    std::filesystem::rename(place, temporary);
    REQUIRE(write_file(place, c.torn));
    CHECK(lab.get("k") == "(none)");
    lab.open();
    CHECK(lab.get("k") == "old");
  }
  std::filesystem::copy(place, temporary);  // Nothing is torn: what is left over goes.
  lab.put("k", "new");
  lab.open();
  CHECK(lab.get("k") == "new");
  CHECK(std::filesystem::is_empty(lab.path + "/s3/bucket/temporary"));
}

TEST_CASE("bucket: writes during a listing's first read are in the listing") {
  Lab lab;
  for (int i = 0; i < 200; ++i) lab.put("old/" + std::to_string(i), "x");
  lab.open();
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      lab.put("new/" + std::to_string(i), "x");
      CHECK(*lab.bucket->remove("old/" + std::to_string(i), {}) == WriteEnd::done);
    }
  });
  REQUIRE(lab.bucket->index());
  writer.join();
  CHECK(lab.keys(with_prefix("old/")).empty());
  CHECK(lab.keys(with_prefix("new/")).size() == 200);
}

TEST_CASE("bucket: only empty buckets are removed, and nothing is written to one that was") {
  Lab lab;
  lab.put("k", "x");
  CHECK(*lab.store->remove("bucket") == BucketStore::Removal::not_empty);
  CHECK(*lab.bucket->remove("k", {}) == WriteEnd::done);
  CHECK_FALSE(*lab.store->create("bucket", UnixMillis(1)));
  CHECK(*lab.store->remove("bucket") == BucketStore::Removal::done);
  CHECK(lab.put("k", "x") == WriteEnd::no_such_bucket);
  CHECK(lab.store->find("bucket") == nullptr);
  CHECK(*lab.store->remove("bucket") == BucketStore::Removal::no_such_bucket);
  CHECK(*lab.store->create("bucket", UnixMillis(1)));
}

TEST_CASE("bucket: an upload is put together once and answers the same again") {
  Lab lab;
  BucketUploads uploads(*lab.bucket);
  ObjectRecord begun;
  begun.key = "k";
  begun.metadata.headers = {{"content-type", "a/b"}};
  begun.checksum = s3wire::KeptChecksum{s3wire::Checksum::crc32, "", true};
  const std::string id = *uploads.begin(begun);
  std::string whole;
  BucketUploads::Asked asked{.id = id,
                             .key = "k",
                             .parts = {},
                             .whole_bytes = {},
                             .checksum = {},
                             .now = UnixMillis(9),
                             .check = {}};
  for (const int number : {2, 1, 3}) {  // Parts may come in any order.
    const std::string bytes(number == 3 ? 10 : 5 << 20, static_cast<char>('a' + number));
    s3wire::Digest md5(s3wire::Checksum::md5);
    md5.add(bytes);
    s3wire::Digest crc(s3wire::Checksum::crc32);
    crc.add(bytes);
    ObjectRecord part;
    part.etag = hex(md5.finish());
    part.checksum = s3wire::KeptChecksum{s3wire::Checksum::crc32, base64(crc.finish()), true};
    Draft draft = lab.bucket->draft();
    REQUIRE(draft.add(bytes));
    CHECK(*uploads.put_part(id, number, std::move(draft), part));
    asked.parts.push_back({number, part.etag, std::nullopt});
  }
  std::sort(asked.parts.begin(), asked.parts.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  whole = std::string(5 << 20, 'b') + std::string(5 << 20, 'c') + std::string(10, 'd');
  lab.open();  // Uploads outlive the server.
  BucketUploads again(*lab.bucket);
  CHECK(again.parts(id)->size() == 3);
  CHECK(again.all()->size() == 1);
  const auto first = again.complete(asked);
  REQUIRE(first);
  const ObjectRecord& record = *first;
  CHECK(record.etag.ends_with("-3"));
  CHECK(record.size == whole.size());
  s3wire::Digest crc(s3wire::Checksum::crc32);
  crc.add(whole);
  CHECK(record.checksum->text == base64(crc.finish()));
  CHECK(lab.get("k") == whole);
  const auto second = again.complete(asked);
  REQUIRE(second);
  CHECK(*second == record);
  CHECK(again.all()->empty());
  again.forget_done(UnixMillis(9) + std::chrono::hours(25));
  CHECK(again.complete(asked).error().code == "NoSuchUpload");
}

TEST_CASE("bucket: uploads that cannot be put together are refused") {
  Lab lab;
  BucketUploads uploads(*lab.bucket);
  ObjectRecord begun;
  begun.key = "k";
  const std::string id = *uploads.begin(begun);
  for (const int number : {1, 2}) {
    ObjectRecord part;
    part.etag = "e" + std::to_string(number);
    Draft draft = lab.bucket->draft();
    REQUIRE(draft.add("short"));
    CHECK(*uploads.put_part(id, number, std::move(draft), part));
  }
  struct {
    const char* name;
    std::string id, key;
    std::vector<s3wire::CompletePart> parts;
    const char* code;
  } const cases[] = {
      {"first part too short", id, "k", {{1, "e1", {}}, {2, "e2", {}}}, "EntityTooSmall"},
      {"another etag", id, "k", {{1, "e2", {}}}, "InvalidPart"},
      {"no such part", id, "k", {{3, "e1", {}}}, "InvalidPart"},
      {"another key", id, "other", {{1, "e1", {}}}, "NoSuchUpload"},
      {"a path", "../../bucket", "k", {{1, "e1", {}}}, "NoSuchUpload"},
      {"no such upload", std::string(32, '0'), "k", {{1, "e1", {}}}, "NoSuchUpload"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const auto made = uploads.complete({.id = c.id,
                                        .key = c.key,
                                        .parts = c.parts,
                                        .whole_bytes = {},
                                        .checksum = {},
                                        .now = UnixMillis(1),
                                        .check = {}});
    REQUIRE_FALSE(made);
    CHECK(made.error().code == c.code);
  }
  CHECK(*uploads.abort(id, "k"));
  CHECK_FALSE(*uploads.abort(id, "k"));
}
