#include "server/store/run_value.h"

#include <doctest/doctest.h>

namespace muster::store {
namespace {

TEST_CASE("runs: what of a hyperparameter's text is a number") {
  struct {
    const char* written;
    RunKey key;
    const char* text;
  } const cases[] = {
      {"32", std::int64_t{32}, "32"},
      {"-7", std::int64_t{-7}, "-7"},
      {"007", std::int64_t{7}, "007"},
      {"1e-5", 1e-5, "1e-5"},
      {".5", 0.5, ".5"},
      {"-0.25", -0.25, "-0.25"},
      {"1.0", std::int64_t{1}, "1.0"},
      {"1e3", std::int64_t{1000}, "1e3"},
      {"-0.0", std::int64_t{0}, "-0.0"},
      {"9223372036854775807", std::int64_t{9223372036854775807}, "9223372036854775807"},
      {"9223372036854775808", 9223372036854775808.0, "9223372036854775808"},
      {"\"32\"", std::int64_t{32}, "32"},
      {"\"adam\"", std::string("adam"), "adam"},
      {"\"a\\\"b\"", std::string("a\"b"), "a\"b"},
      {"adam", std::string("adam"), "adam"},
      {"\"adam", std::string("\"adam"), "\"adam"},
      {"\"a\" or \"b\"", std::string("\"a\" or \"b\""), "\"a\" or \"b\""},
      {"", std::string(), ""},
      {"\"", std::string("\""), "\""},
      {"+5", std::string("+5"), "+5"},
      {" 5", std::string(" 5"), " 5"},
      {"5 ", std::string("5 "), "5 "},
      {"-", std::string("-"), "-"},
      {"nan", std::string("nan"), "nan"},
      {"-inf", std::string("-inf"), "-inf"},
      {"1e999", std::string("1e999"), "1e999"},
      {"0x10", std::string("0x10"), "0x10"},
      {"1,000", std::string("1,000"), "1,000"},
      {"[1, 2]", std::string("[1, 2]"), "[1, 2]"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.written);
    CHECK(run_value(c.written) == RunValue{c.key, c.text});
  }
}

TEST_CASE("runs: long values are cut between characters") {
  const RunValue ascii = run_value(std::string(257, 'a'));
  CHECK(ascii.text == std::string(253, 'a') + "…");
  CHECK(run_value(std::string(256, 'a')).text == std::string(256, 'a'));
  std::string wide;
  while (wide.size() <= run_value_bytes_max) wide += "ü";
  CHECK(run_value(wide).text.size() == 252 + 3);
  CHECK_FALSE(run_value(std::string(300, '1')).is_number());
}

}  // namespace
}  // namespace muster::store
