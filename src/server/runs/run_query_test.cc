#include "server/runs/run_query.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::runs {
namespace {

Query query_of(const char* text) {
  Result<Query> query = query_in(*parse_json(text));
  REQUIRE(query);
  return *std::move(query);
}

TEST_CASE("runs: columns have a prefix, and names any bytes behind it") {
  struct {
    std::string text;
    std::optional<Column> want;
  } const cases[] = {
      {"name", Column{Field::name}},
      {"duration", Column{Field::duration}},
      {"hp:lr", Column{Field::hyperparameter, "lr"}},
      {"hp:a:b.c d", Column{Field::hyperparameter, "a:b.c d"}},
      {"tag:team", Column{Field::tag, "team"}},
      {"last:loss", Column{Field::last, "loss"}},
      {"most:x' OR 1=1 --", Column{Field::most, "x' OR 1=1 --"}},
      {"hp:" + std::string(256, 'n'), Column{Field::hyperparameter, std::string(256, 'n')}},
      {"hp:" + std::string(257, 'n'), std::nullopt},
      {"hp:", std::nullopt},
      {"hp", std::nullopt},
      {"", std::nullopt},
      {"names", std::nullopt},
      {"request", std::nullopt},
      {"mean:loss", std::nullopt},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(column_named(c.text) == c.want);
    if (c.want) CHECK(column_text(*c.want) == c.text);
  }
}

TEST_CASE("runs: what a query may ask") {
  const Query query = query_of(
      R"({"columns": ["hp:lr", "last:loss"], "sort": "least:loss", "descending": true,
          "limit": 5, "filters": [{"column": "status", "is": "=", "value": "Completed"},
          {"column": "hp:lr", "is": ">=", "value": "1e-4"},
          {"column": "last:loss", "is": "<", "value": 0.5},
          {"column": "created", "is": ">", "value": 1795813000.123},
          {"column": "hp:n", "is": "contains", "value": "1e"},
          {"column": "name", "is": "=", "value": "12"},
          {"column": "tag:team", "is": "missing"}]})");
  CHECK(query.columns == std::vector<Column>{{Field::hyperparameter, "lr"}, {Field::last, "loss"}});
  CHECK(query.sort == Column{Field::least, "loss"});
  CHECK(query.descending);
  CHECK(query.limit == 5);
  CHECK(query.filters == std::vector<Filter>{
                             {{Field::status}, Test::equal, std::string("Completed")},
                             {{Field::hyperparameter, "lr"}, Test::at_least, 1e-4},
                             {{Field::last, "loss"}, Test::less, 0.5},
                             {{Field::created}, Test::more, std::int64_t{1795813000123}},
                             {{Field::hyperparameter, "n"}, Test::contains, std::string("1e")},
                             {{Field::name}, Test::equal, std::string("12")},
                             {{Field::tag, "team"}, Test::missing},
                         });
  const Query plain = query_of("{}");
  CHECK(plain.sort == Column{Field::created});
  CHECK(plain.limit == 100);
  CHECK_FALSE(plain.after);
}

std::string filter(const char* column, const char* is, const char* value) {
  return std::string(R"({"filters": [{"column": ")") + column + R"(", "is": ")" + is +
         R"(", "value": )" + value + "}]}";
}

TEST_CASE("runs: what a query may not ask") {
  std::string many = R"({"columns": ["hp:a")";
  for (int i = 0; i < 50; ++i) many += R"(, "hp:a")";
  std::string filters = R"({"filters": [{"column": "hp:a", "is": "exists"})";
  for (int i = 0; i < 8; ++i) filters += R"(, {"column": "hp:a", "is": "exists"})";
  const std::string cases[] = {
      R"({"columns": "hp:a"})",
      R"({"columns": [7]})",
      R"({"columns": ["name"]})",
      R"({"columns": ["number"]})",
      many + "]}",
      filters + "]}",
      R"({"filters": {}})",
      R"({"filters": ["status"]})",
      R"({"filters": [{}]})",
      R"({"sort": "request"})",
      R"({"sort": null})",
      R"({"descending": "yes"})",
      R"({"limit": 0})",
      R"({"limit": 201})",
      R"({"limit": -1})",
      R"({"limit": "100"})",
      R"({"limit": 1e300})",
      R"({"after": "x"})",
      R"({"after": 7})",
      filter("status", "<", "\"a\""),
      filter("status", "contains", "\"a\""),
      filter("status", "=", "5"),
      filter("status", "exists", "null"),
      filter("name", "=", "5"),
      filter("created", "=", "5"),
      filter("created", "<", "\"today\""),
      filter("created", "<", "1e300"),
      filter("created", "<", "null"),
      filter("duration", "contains", "\"5\""),
      filter("last:loss", "=", "\"adam\""),
      filter("last:loss", "contains", "\"5\""),
      filter("hp:a", "like", "\"5\""),
      filter("hp:a", "", "\"5\""),
      filter("hp:a", "=", "true"),
      filter("hp:a", "=", "[1]"),
      filter("hp:a", "=", "null"),
      filter("hp:a", "contains", "5"),
      filter("hp:a", "exists", "5"),
      filter("hp:a", "=", ("\"" + std::string(257, 'x') + "\"").c_str()),
  };
  for (const std::string& c : cases) {
    CAPTURE(c);
    const Result<Query> query = query_in(*parse_json(c));
    REQUIRE_FALSE(query);
    CHECK(query.error().code == Errc::invalid_input);
  }
}

TEST_CASE("runs: tokens of places lead back to them, and others are refused") {
  const Place places[] = {
      {Part::numbers, std::int64_t{7}, 3, UnixMillis(5)},
      {Part::numbers, 1e-300, 3, UnixMillis(5)},
      {Part::numbers, 0.1, 1, UnixMillis(0)},
      {Part::texts, std::string("a\"\x01ü"), 1, UnixMillis(9)},
      {Part::texts, std::string(256, '\x01'), 1, UnixMillis(9)},
      {Part::missing, std::int64_t{0}, 12, UnixMillis(9)},
  };
  for (const Place& each : places) CHECK(place_of(token_of(each)) == each);
  for (const char* text :
       {"[]", "7", "{}", "[0, 1, 2]", "[3, 1, 2, 3]", "[-1, 1, 2, 3]", "[0, \"a\", 2, 3]",
        "[1, 7, 2, 3]", "[0, 1, -2, 3]", "[0, 1, 2, -3]", "[0, 1, 2, 9000000000000000000]",
        "[0, 1, 2.5, 3]", "[0, null, 2, 3]", "[0, 1, 18446744073709551615, 3]"}) {
    CAPTURE(text);
    std::string token;
    for (const char* c = text; *c != '\0'; ++c) {
      constexpr const char* digits = "0123456789abcdef";
      token += digits[static_cast<unsigned char>(*c) / 16];
      token += digits[static_cast<unsigned char>(*c) % 16];
    }
    CHECK_FALSE(place_of(token));
  }
  CHECK_FALSE(place_of(""));
  CHECK_FALSE(place_of("zz"));
  CHECK_FALSE(place_of(std::string(5000, '0')));
}

}  // namespace
}  // namespace muster::runs
