#include <doctest/doctest.h>
#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "base/backoff.h"
#include "base/fd.h"
#include "base/fields.h"
#include "base/text.h"

namespace muster {
namespace {

TEST_CASE("text: splitting, joining, numbers and hex") {
  CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(split_words("  -x  A=b\tc\n") == std::vector<std::string>{"-x", "A=b", "c"});
  CHECK(join({"a", "b"}, "--") == "a--b");
  CHECK(trim(" \n a b\t") == "a b");
  CHECK(parse_integer("-12") == -12);
  CHECK(!parse_integer("12 "));
  CHECK(!parse_integer(""));
  CHECK(from_hex(hex(std::string("\x00\xff", 2))) == std::string("\x00\xff", 2));
  CHECK(!from_hex("0g"));
}

TEST_CASE("text: a pattern's signs for any characters, and for any one") {
  CHECK(matches("a*c", "abbc"));
  CHECK(!matches("a*c", "abbcd"));
  CHECK(!matches("a?c", "abc"));  // Only where it is asked for.
  CHECK(matches("a?c", "abc", '?'));
  CHECK(!matches("a?c", "ac", '?'));
  CHECK(matches("*?", "a", '?'));
  CHECK(!matches("*?", "", '?'));
  CHECK(matches("?*b?", "aabbc", '?'));
}

TEST_CASE("text: quoted words are what a shell would read back") {
  CHECK(shell_quoted({"python3", "a b", "", "it's", "$(x)"}) ==
        "python3 'a b' '' 'it'\"'\"'s' '$(x)'");
}

TEST_CASE("text: bytes that are not UTF-8 are found, and replaced one by one") {
  CHECK(is_utf8("h\xc3\xa9llo"));
  const char* const bad[] = {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"};
  for (const char* bytes : bad) {
    CAPTURE(bytes);
    CHECK(!is_utf8(bytes));
  }
  CHECK(to_utf8("a\xff"
                "b") ==
        "a\xef\xbf\xbd"
        "b");
}

TEST_CASE("json: an error says where") {
  CHECK(to_text(*parse_json("{\"b\": 1, \"a\": [true]}")) == "{\"a\":[true],\"b\":1}");
  REQUIRE(!parse_json("{\"a\": }"));
  CHECK(parse_json("{\"a\": }").error().text.find("line 1, column 7") != std::string::npos);
  CHECK(parse_json(std::string(256, '[') + std::string(256, ']')));
  CHECK(parse_json(std::string(257, '[')).error().text ==
        "arrays and objects are nested deeper than 256 levels");
  CHECK(parse_json("[\"" + std::string(1'000'000, 'x')).error().text.size() < 300);
  CHECK(parse_json("\"\\\"" + std::string(300, '[') + "\""));
  CHECK(to_text(Json("a\xff")) == "\"a\xef\xbf\xbd\"");
}

TEST_CASE("json: a member that is not a text is empty") {
  const Json json{{"a", "b"}, {"n", 1}, {"none", nullptr}};
  CHECK(member_text(json, "a") == "b");
  for (const char* name : {"n", "none", "missing"}) CHECK(member_text(json, name).empty());
  for (const Json& other : {Json(), Json("a"), Json::array({"a"})})
    CHECK(member_text(other, "a").empty());
}

TEST_CASE("files: written whole, read with a limit, close-on-exec") {
  const std::string folder = *make_private_folder("/tmp", "muster-base-");
  const std::string path = folder + "/file";
  REQUIRE(write_file(path, "one", 0600));
  REQUIRE(write_file(path, "two", 0600));
  CHECK(*read_file(path) == "two");
  CHECK(read_file(path, 2).error().code == Errc::invalid_input);
  CHECK(read_file(folder + "/none").error().code == Errc::not_found);
  CHECK(write_file(folder + "/no/file", "x").error().code == Errc::not_found);
  REQUIRE(make_folders(folder + "/a/b/c"));
  CHECK(!make_folders(path + "/below"));
  Result<Pipe> pipe = make_pipe();
  REQUIRE(pipe);
  CHECK((::fcntl(pipe->read.get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(write_file(folder + "/gone", "x"));
}

TEST_CASE("backoff: pauses double from the first to the most, shortened by chance up to half") {
  using std::chrono::milliseconds;
  Backoff backoff;
  for (const int want : {50, 100, 200, 400, 800, 1000, 1000})
    CHECK(backoff.next(0.999999999) / milliseconds(1) == want - 1);
  backoff.reset();
  for (const int want : {25, 50, 100, 200, 400, 500, 500})
    CHECK(backoff.next(0.0) == milliseconds(want));
  const double chance = random_chance();
  CHECK((chance >= 0 && chance < 1));
}

}  // namespace
}  // namespace muster
