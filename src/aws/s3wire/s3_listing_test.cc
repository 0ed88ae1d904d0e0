#include "aws/s3wire/s3_listing.h"

#include <doctest/doctest.h>

#include <set>

using namespace muster;
using namespace muster::s3wire;

namespace {

using Keys = std::vector<std::string>;

/// Keys in memory; those in `gone` have just been deleted.
class MemoryCursor final : public KeyCursor {
 public:
  explicit MemoryCursor(const Keys& keys, const Keys& gone = {})
      : keys_(keys.begin(), keys.end()), gone_(gone.begin(), gone.end()), at_(keys_.end()) {}
  void seek(std::string_view key) override {
    CHECK(std::string(key) >= sought_);
    sought_ = key;
    at_ = keys_.lower_bound(sought_);
    ++seeks;
  }
  void next() override { ++at_; }
  std::optional<std::string_view> key() override {
    if (at_ == keys_.end()) return std::nullopt;
    return *at_;
  }
  std::optional<ListedObject> object() override {
    if (gone_.contains(*at_)) return std::nullopt;
    ListedObject object;
    object.key = *at_;
    return object;
  }
  int seeks = 0;

 private:
  std::set<std::string> keys_;
  std::set<std::string> gone_;
  std::string sought_;
  std::set<std::string>::iterator at_;
};

Keys keys_of(const Listing& listing) {
  Keys keys;
  for (const ListedObject& object : listing.objects) keys.push_back(object.key);
  return keys;
}

ListQuery query_of(std::string prefix, std::string delimiter, std::string after,
                   std::uint64_t max = 1000) {
  ListQuery query;
  query.prefix = std::move(prefix);
  query.delimiter = std::move(delimiter);
  query.after = std::move(after);
  query.max = max;
  return query;
}

}  // namespace

TEST_CASE("s3_listing: the object and the folder with a name, and no longer names") {
  const Keys all = {"run", "run!", "run-1/a", "run/", "run/1", "run/2/b", "run0", "run1/a", "s"};
  const auto listed = [&](const std::string& prefix, const std::string& delimiter,
                          const std::string& after, std::uint64_t max = 1000) {
    ListQuery query = query_of(prefix, delimiter, after, max);
    query.named_only = true;
    MemoryCursor cursor(all);
    return list(cursor, query);
  };
  CHECK(keys_of(listed("run", "", "")) == Keys{"run", "run/", "run/1", "run/2/b"});
  CHECK(listed("run", "/", "").common_prefixes == Keys{"run/"});
  CHECK(keys_of(listed("run", "/", "")) == Keys{"run"});
  CHECK(keys_of(listed("run", "", "run")) == Keys{"run/", "run/1", "run/2/b"});
  CHECK(keys_of(listed("run", "", "run!")) == Keys{"run/", "run/1", "run/2/b"});
  CHECK(keys_of(listed("run", "", "run0")).empty());
  CHECK(listed("run", "", "", 4).truncated == false);
  CHECK(listed("run", "", "", 3).next == "run/1");
  CHECK(keys_of(listed("ru", "", "")).empty());
  CHECK(keys_of(listed("run-1", "", "")) == Keys{"run-1/a"});
}

TEST_CASE("s3_listing: pages by prefix, delimiter and marker") {
  const Keys all = {"a", "b/1", "b/2", "b/c/3", "b0", "c", "c/", "c//d", "d\xff", "d\xffx"};
  const struct {
    const char* name;
    ListQuery query;
    Keys keys;
    Keys common;
    std::string next;
  } cases[] = {
      {"all", query_of("", "", ""), all, {}, ""},
      {"a delimiter", query_of("", "/", ""), {"a", "b0", "c", "d\xff", "d\xffx"}, {"b/", "c/"}, ""},
      {"a prefix", query_of("b", "", ""), {"b/1", "b/2", "b/c/3", "b0"}, {}, ""},
      {"a folder", query_of("b/", "/", ""), {"b/1", "b/2"}, {"b/c/"}, ""},
      {"a folder without its slash", query_of("b", "/", ""), {"b0"}, {"b/"}, ""},
      {"a folder that is a key too", query_of("c/", "/", ""), {"c/"}, {"c//"}, ""},
      {"another delimiter",
       query_of("", "c", ""),
       {"a", "b/1", "b/2", "b0", "d\xff", "d\xffx"},
       {"b/c", "c"},
       ""},
      {"a longer delimiter", query_of("c", "//", ""), {"c", "c/"}, {"c//"}, ""},
      {"a prefix that nothing has", query_of("x", "", ""), {}, {}, ""},
      {"three", query_of("", "", "", 3), {"a", "b/1", "b/2"}, {}, "b/2"},
      {"behind a key", query_of("", "", "b/2", 3), {"b/c/3", "b0", "c"}, {}, "c"},
      {"the last page", query_of("", "", "c", 4), {"c/", "c//d", "d\xff", "d\xffx"}, {}, ""},
      {"behind a key that is not there",
       query_of("", "", "b/1x", 2),
       {"b/2", "b/c/3"},
       {},
       "b/c/3"},
      {"a page ends with a common prefix", query_of("", "/", "", 2), {"a"}, {"b/"}, "b/"},
      {"and goes on behind it", query_of("", "/", "b/", 2), {"b0", "c"}, {}, "c"},
      {"from within a folder", query_of("", "/", "b/1", 2), {"b0"}, {"b/"}, "b0"},
      {"a marker before the prefix", query_of("c", "", "a"), {"c", "c/", "c//d"}, {}, ""},
      {"a marker behind the prefix", query_of("c", "", "d"), {}, {}, ""},
      {"none at all", query_of("", "", "", 0), {}, {}, ""},
      {"a delimiter of 0xff",
       query_of("", "\xff", ""),
       {"a", "b/1", "b/2", "b/c/3", "b0", "c", "c/", "c//d"},
       {"d\xff"},
       ""},
      {"behind that", query_of("", "\xff", "d\xff"), {}, {}, ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    MemoryCursor cursor(all);
    const Listing got = list(cursor, c.query);
    CHECK(keys_of(got) == c.keys);
    CHECK(got.common_prefixes == c.common);
    CHECK(got.truncated == !c.next.empty());
    CHECK(got.next == c.next);
  }
}

TEST_CASE("s3_listing: page by page is all of it, whatever the size of a page") {
  Keys all;
  for (int i = 0; i < 40; ++i)
    for (const char* form : {"k%", "k%/a", "k%/b/c", "l/k%"}) {
      std::string key = form;
      all.push_back(key.replace(key.find('%'), 1, std::to_string(i)));
    }
  for (const char* delimiter : {"", "/"}) {
    MemoryCursor whole(all);
    const Listing want = list(whole, query_of("", delimiter, ""));
    for (const std::uint64_t max : {1u, 2u, 3u, 7u, 39u}) {
      CAPTURE(max);
      Keys keys;
      Keys common;
      ListQuery query = query_of("", delimiter, "", max);
      for (int pages = 0; pages < 1000; ++pages) {
        MemoryCursor cursor(all);
        const Listing page = list(cursor, query);
        const Keys more = keys_of(page);
        keys.insert(keys.end(), more.begin(), more.end());
        common.insert(common.end(), page.common_prefixes.begin(), page.common_prefixes.end());
        if (!page.truncated) break;
        const std::optional<std::string> after = continued_at(continuation_token(page.next));
        REQUIRE(after);
        query.after = *after;
      }
      CHECK(keys == keys_of(want));
      CHECK(common == want.common_prefixes);
    }
  }
}

TEST_CASE("s3_listing: a folder of any size costs one seek") {
  Keys all;
  for (int i = 0; i < 1000; ++i) all.push_back("a/" + std::to_string(i));
  MemoryCursor cursor(all);
  CHECK(list(cursor, query_of("", "/", "")).common_prefixes == Keys{"a/"});
  CHECK(cursor.seeks == 2);
}

TEST_CASE("s3_listing: an object that went away meanwhile is left out") {
  MemoryCursor cursor({"a", "b", "c"}, {"b"});
  CHECK(keys_of(list(cursor, query_of("", "", ""))) == Keys{"a", "c"});
}

TEST_CASE("s3_listing: a token is one of ours or refused") {
  CHECK(continued_at(continuation_token("a/\xc3\xa4")) == "a/\xc3\xa4");
  for (const char* bad : {"", "a", "zz", "6 "}) CHECK(!continued_at(bad));
  CHECK(behind_prefix("a") == "b");
  CHECK(behind_prefix("a\xff\xff") == "b");
  CHECK(!behind_prefix("\xff"));
  CHECK(!behind_prefix(""));
}
