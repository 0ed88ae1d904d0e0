#include "server/cloudwatch/log_level.h"

#include <doctest/doctest.h>

#include <string>

namespace muster::cloudwatch {
namespace {

TEST_CASE("log level: by the logger's word, else by words of trouble") {
  struct {
    std::string line;
    Level want;
  } const cases[] = {
      {"2026-01-31 12:00:00,123 - train - WARNING - slow", Level::warning},
      {"ERROR:root:no", Level::error},
      {"INFO no error at all", Level::info},
      {"[DEBUG] x", Level::debug},
      {"CRITICAL x", Level::error},
      {"E0131 12:00:00.123456 7 file.cc:3] x", Level::error},
      {"2026-01-31 12:00:00.123456: W tensorflow/core x", Level::warning},
      {"2026-01-31 12:00:00.123456: I tensorflow/core error", Level::info},
      {"ValueError: bad", Level::error},
      {"OSError: Address already in use", Level::error},
      {"Traceback (most recent call last):", Level::error},
      {"Segmentation fault (core dumped)", Level::error},
      {"UserWarning: old", Level::warning},
      {"algo-1 muster: warning: no py-spy", Level::warning},
      {"error: 0.02 val_error = .5", Level::any},
      {"error: 0.02, then an exception", Level::error},
      {"0 errors, terror, forewarned", Level::any},
      {"E1 is a letter", Level::any},
      {"\x1b[31mERROR\x1b[0m no", Level::error},
      {"\x1b[1;38;5;3mWARNING \x1b[0m slow", Level::warning},
      {"\x1b[32m2026-01-31 12:00:00\x1b[0m | \x1b[1mINFO\x1b[0m | no error", Level::info},
      {std::string(3000, 'x') + " Exception", Level::any},
      {"", Level::any},
  };
  for (const auto& c : cases) {
    CAPTURE(c.line);
    CHECK(level_of(c.line) == c.want);
  }
  CHECK(level_named("warning") == Level::warning);
  CHECK(level_named("") == Level::any);
  for (const Level each : {Level::any, Level::debug, Level::info, Level::warning, Level::error})
    CHECK(level_named(level_name(each)) == each);
  CHECK(!level_named("WARNING"));
}

}  // namespace
}  // namespace muster::cloudwatch
