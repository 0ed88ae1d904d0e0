#include "aws/s3client/s3_channel.h"

#include <doctest/doctest.h>

#include "aws/s3client/s3_list.h"

using namespace muster;
using namespace muster::s3client;

namespace {

std::vector<S3Object> objects_of(std::vector<std::string> keys) {
  std::vector<S3Object> all;
  for (std::string& key : keys) all.push_back({std::move(key), 1, "\"e\""});
  return all;
}

std::vector<std::string> paths_of(const std::vector<FetchItem>& items) {
  std::vector<std::string> paths;
  for (const FetchItem& item : items) paths.push_back(item.path + (item.folder ? "/" : ""));
  return paths;
}

}  // namespace

TEST_CASE("s3_list: a page of a listing is read, whatever its keys are made of") {
  const Result<S3Page> page = parse_listing(
      "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
      "<NextContinuationToken>t&amp;1</NextContinuationToken>"
      "<Contents><Key>a+b%2Fc%2B%0Ad</Key><Size>5</Size><ETag>&quot;x-2&quot;</ETag></Contents>"
      "<Contents><Key>%</Key><Size>0</Size><LastModified>1970-01-01T00:00:01.500Z</LastModified>"
      "</Contents></ListBucketResult>");
  REQUIRE(page);
  CHECK(page->next == "t&1");
  CHECK(page->objects ==
        std::vector<S3Object>{{"a b/c+\nd", 5, "\"x-2\""}, {"%", 0, "", UnixMillis(1500)}});
  const Result<S3Page> plain = parse_listing(
      "<ListBucketResult><Contents><Key> a+%20</Key><Size>1</Size></Contents></ListBucketResult>");
  REQUIRE(plain);
  CHECK(plain->objects[0].key == " a+%20");
  CHECK(plain->next.empty());
}

TEST_CASE("s3_list: an invalid listing is refused") {
  for (const char* xml :
       {"", "<Error/>", "<ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated>"
        "</ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"}) {
    CAPTURE(xml);
    const Result<S3Page> page = parse_listing(xml);
    REQUIRE(!page);
    CHECK(page.error().code == Errc::protocol);
  }
}

TEST_CASE("channel: keys become files below the channel's folder") {
  struct {
    const char* name;
    std::vector<std::string> keys;
    std::size_t cut;
    FetchRules rules;
    std::vector<std::string> want;
  } const cases[] = {
      {"folder", {"d/", "d/a", "d/b/c"}, 2, {}, {"a", "b/c"}},
      {"empty folders stay", {"d/x/", "d/y"}, 2, {}, {"x/", "y"}},
      {"double slashes", {"d//a", "d/b//c"}, 2, {}, {"a", "b/c"}},
      {"one object", {"d/train.csv"}, folder_bytes("d/train.csv"), {}, {"train.csv"}},
      {"start of names",
       {"d/part-0", "d/part-1"},
       folder_bytes("d/part-"),
       {},
       {"part-0", "part-1"}},
      {"whole bucket", {"a", "b/c"}, folder_bytes(""), {}, {"a", "b/c"}},
      {"first share", {"a", "b", "c", "d", "e"}, 0, {0, 2}, {"a", "c", "e"}},
      {"second share", {"a", "b", "c", "d", "e"}, 0, {1, 2}, {"b", "d"}},
      {"folders are no share's", {"a", "f/", "g"}, 0, {1, 2}, {"f/", "g"}},
      {"empty share", {"a"}, 0, {1, 2}, {}},
      {"gzip", {"a.gz", "b", "c.tar.gz", "d/.gz"}, 0, {0, 1, true}, {"a", "b", "c.tar", "d/.gz"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<std::vector<FetchItem>> items = plan_fetch(objects_of(c.keys), c.cut, c.rules);
    REQUIRE(items);
    CHECK(paths_of(*items) == c.want);
  }
  CHECK((*plan_fetch(objects_of({"a.gz"}), 0, {0, 1, true}))[0].gunzip);
}

TEST_CASE("channel: shares go on from page to page") {
  const std::vector<S3Object> first = objects_of({"a", "b", "c/", "d"});
  CHECK(count_files(first, 0) == 3);
  CHECK(paths_of(*plan_fetch(first, 0, {0, 2})) == std::vector<std::string>{"a", "c/", "d"});
  const FetchRules rules{.share = 0, .shares = 2, .before = count_files(first, 0)};
  CHECK(paths_of(*plan_fetch(objects_of({"e", "f"}), 0, rules)) == std::vector<std::string>{"f"});
}

TEST_CASE("channel: keys that no folder can hold are refused by name") {
  struct {
    std::vector<std::string> keys;
    bool gzip;
    const char* want;
  } const cases[] = {
      {{"a/../b"}, false, "object a/../b: invalid file name \"..\""},
      {{"./a"}, false, "object ./a: invalid file name \".\""},
      {{std::string(256, 'x')},
       false,
       "its key contains a file or folder name of more than 255 bytes"},
      {{std::string("a\0b", 3)}, false, "its key contains a NUL character"},
      {{"foo", "foo/bar"}, false, "object foo/bar: foo is also an object"},
      {{"foo", "foo/"},
       false,
       "object foo/: this object is a folder, but another object has the same name without the "
       "final '/'"},
      {{"a//b", "a/b"}, false, "object a/b: its file name is the same as that of object a//b"},
      {{"a", "a.gz"}, true, "object a.gz: its file name is the same as that of object a"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Result<std::vector<FetchItem>> items = plan_fetch(objects_of(c.keys), 0, {0, 1, c.gzip});
    REQUIRE(!items);
    CHECK(items.error().code == Errc::invalid_input);
    CHECK(items.error().text.find(c.want) != std::string::npos);
  }
}

TEST_CASE("channel: a manifest is a prefix and names") {
  const Result<Manifest> manifest =
      parse_manifest(R"([{"prefix": "s3://b/start/"}, "a.csv", "d/b.csv"])");
  REQUIRE(manifest);
  CHECK(manifest->prefix == s3wire::S3Url{"b", "start/"});
  CHECK(manifest->names == std::vector<std::string>{"a.csv", "d/b.csv"});
  for (const char* text :
       {"", "{}", "[]", "[\"a\"]", R"([{"prefix": 1}])", R"([{"prefix": "s3://b/"}, 1])",
        R"([{"prefix": "s3://b/"}, ""])", R"([{"prefix": "/b"}, "a"])"}) {
    CAPTURE(text);
    const Result<Manifest> bad = parse_manifest(text);
    REQUIRE(!bad);
    CHECK(bad.error().code == Errc::invalid_input);
  }
}
