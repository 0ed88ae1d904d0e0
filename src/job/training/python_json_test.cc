#include "job/training/python_json.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/text.h"

namespace muster::job {
namespace {

TEST_CASE("python json: reads and writes as Python does, over the table that Python made") {
  const Result<std::string> table = read_file(MUSTER_SOURCE_DIR "/tests/data/python_json.jsonl");
  REQUIRE(table);
  int rows = 0;
  for (const std::string& line : split(*table, '\n')) {
    if (line.empty()) continue;
    CAPTURE(line);
    ++rows;
    const Result<PyValue> row = python_loads(line);
    REQUIRE(row);
    const Result<PyValue> value = python_loads(row->items[0].text);
    const bool accepted = row->items.size() == 3;
    CHECK(value.has_value() == accepted);
    if (!accepted || !value) continue;
    CHECK(python_dumps(*value) == row->items[1].text);
    CHECK(python_str(*value) == row->items[2].text);
  }
  CHECK(rows > 150);
}

TEST_CASE("python json: an error says where and what was expected") {
  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"{\"a\": 1,\n \"b\" 2}", "line 2, column 6: expected ':'"},
      {"[1, 2", "line 1, column 6: expected ',' or ']'"},
      {"{\"a\": tru}", "line 1, column 7: expected a JSON value"},
      {"\"a\nb\"", "line 1, column 3: expected an escape"},
      {"1 2", "line 1, column 3: expected the end of the text"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<PyValue> value = python_loads(c.text);
    REQUIRE(!value);
    CHECK(value.error().code == Errc::invalid_input);
    CHECK(value.error().text.find(c.says) == 0);
  }
}

TEST_CASE("python json: nesting and integers beyond the limits are refused, not followed") {
  CHECK(python_loads(std::string(256, '[') + std::string(256, ']')));
  const Result<PyValue> deep = python_loads(std::string(100000, '['));
  REQUIRE(!deep);
  CHECK(deep.error().text.find("256 levels") != std::string::npos);
  CHECK(python_loads(std::string(4300, '1')));
  CHECK(!python_loads(std::string(4301, '1')));
}

TEST_CASE("python json: truth is Python's") {
  for (const char* text : {"0", "0.0", "\"\"", "[]", "{}", "null", "false"}) {
    CAPTURE(text);
    CHECK(!python_loads(text)->truthy());
  }
  for (const char* text : {"1", "NaN", "\"0\"", "[0]", "{\"\":0}", "true", "1e-9"}) {
    CAPTURE(text);
    CHECK(python_loads(text)->truthy());
  }
}

}  // namespace
}  // namespace muster::job
