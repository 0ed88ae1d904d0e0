#include "base/yaml.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

TEST_CASE("yaml: a document means what JSON's values can say of it") {
  struct {
    const char* name;
    const char* text;
    const char* want;
  } const cases[] = {
      {"map and list", "a: 1\nb:\n- x\n- {c: d}\n", R"({"a":1,"b":["x",{"c":"d"}]})"},
      {"JSON is YAML", R"({"a": [1, 2.5, true, null, "t"]})", R"({"a":[1,2.5,true,null,"t"]})"},
      {"quoted values are texts", "['1', \"true\", '~', '']", R"(["1","true","~",""])"},
      {"empty values", "a:\nb: ~\nc: null", R"({"a":null,"b":null,"c":null})"},
      {"numbers", "[0, -5, 0x1F, 0o17, 18446744073709551615, 1e3, -0.5]",
       "[0,-5,31,15,18446744073709551615,1000.0,-0.5]"},
      {"no numbers", "[0755, 012345678901, 1.2.3, 10-20, .inf, 2010-09-09, '+', -, 1e999]",
       R"(["0755","012345678901","1.2.3","10-20",".inf","2010-09-09","+","-","1e999"])"},
      {"YAML 1.1's truth is text", "[yes, on, no, off]", R"(["yes","on","no","off"])"},
      {"numbers as keys", "{1: a, true: b}", R"({"1":"a","true":"b"})"},
      {"alias", "a: &x {b: 1}\nc: *x", R"({"a":{"b":1},"c":{"b":1}})"},
      {"tags of YAML's own", "[!!str 12, !!map {a: b}]", R"(["12",{"a":"b"}])"},
      {"text over lines", "a: |\n  one\n  two\nb: >-\n  one\n  two",
       R"({"a":"one\ntwo\n","b":"one two"})"},
      {"document marks", "%YAML 1.2\n---\na: 1\n...\n", R"({"a":1})"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<Json> got = parse_yaml(c.text);
    REQUIRE_MESSAGE(got, (got ? "" : got.error().text));
    CHECK(to_text(*got) == to_text(*parse_json(c.want)));
  }
}

TEST_CASE("yaml: values stay the text that was written where that is asked for") {
  const YamlOptions options{.is_text_kept = true};
  CHECK(to_text(*parse_yaml("[1.10, true, 0755, ~, 'x']", options)) ==
        R"(["1.10","true","0755",null,"x"])");
}

TEST_CASE("yaml: tags of the document's own mean what the caller says") {
  const YamlOptions options{.tagged = [](std::string_view tag, Json value) -> Result<Json> {
    if (tag == "!Bad") return fail(Errc::invalid_input, "no such function");
    return Json{{std::string(tag.substr(1)), std::move(value)}};
  }};
  CHECK(to_text(*parse_yaml("a: !Ref X\nb: !Join ['', [!Ref Y, z]]", options)) ==
        R"({"a":{"Ref":"X"},"b":{"Join":["",[{"Ref":"Y"},"z"]]}})");
  CHECK(parse_yaml("a: b\nc: !Bad 1", options).error().text == "line 2: no such function");
}

TEST_CASE("yaml: a syntax error is one line that says where") {
  struct {
    const char* name;
    std::string text;
    const char* want;
  } const cases[] = {
      {"empty", "# nothing\n", "the YAML document is empty"},
      {"twice", "a: 1\na: 2\n", "line 2: the key a appears twice"},
      {"two documents", "a: 1\n---\nb: 2\n",
       "line 2: expected only one YAML document, but a second one starts here"},
      {"merge", "a: &x {b: 1}\nc:\n  <<: *x\n", "line 3: merge keys (<<) are not supported"},
      {"map as a key", "? {a: b}\n: c\n",
       "line 1: a key is a list, a map or an alias; expected a string"},
      {"alias of nothing", "a: *b\n",
       "line 1: the alias *b refers to an anchor that is missing or not complete"},
      {"alias of itself", "a: &x [*x]\n",
       "line 1: the alias *x refers to an anchor that is missing or not complete"},
      {"tag", "a: !Ref b\n", "line 1: the tag !Ref is not supported here"},
      {"open list", "a: [1, 2\n", "line 2: not YAML: did not find expected ',' or ']'"},
      {"tab", "a:\n\t- b\n", "line 2: not YAML: found character that cannot start any token"},
      {"not UTF-8", "a: \xff\xfe\n", "byte 3: not YAML: invalid leading UTF-8 octet"},
      {"deep", std::string(101, '[') + std::string(101, ']'),
       "line 1: lists and maps are nested deeper than 100 levels"},
      {"large", std::string(yaml_bytes_max + 1, ' '),
       "1048577 bytes of YAML exceed the limit of 1048576"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<Json> got = parse_yaml(c.text);
    REQUIRE(!got);
    CHECK(got.error().code == Errc::invalid_input);
    CHECK(got.error().text == c.want);
  }
}

TEST_CASE("yaml: a few lines of aliases do not become a billion nodes") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string below = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + below;
    for (int n = 1; n < 10; ++n) text += ", " + below;
    text += "]\n";
  }
  const Result<Json> got = parse_yaml(text);
  REQUIRE(!got);
  CHECK(got.error().text.find("the document exceeds 4 MiB") != std::string::npos);
}

}  // namespace
}  // namespace muster
