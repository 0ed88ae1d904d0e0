#include "cli/fit/value_files.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

using namespace muster;
using namespace muster::cli;

using Lines = std::vector<std::string>;

TEST_CASE("value files: lines of variables, members of hyperparameters") {
  CHECK(env_file_lines("# of the lab\nA=1\n\nTOKEN=a=b #c\r\n  \nEMPTY=\n") ==
        Lines{"A=1", "TOKEN=a=b #c", "EMPTY="});
  CHECK(env_file_lines("").empty());
  CHECK(*hyperparameters_in(R"({"epochs": 3, "lr": 0.5, "name": "x y", "layers": [1, 2]})") ==
        Lines{"epochs=3", "layers=[1,2]", "lr=0.5", "name=x y"});
  for (const char* bad : {"", "[1]", "{", R"({"": 1})", R"({"a=b": 1})"})
    CHECK(!hyperparameters_in(bad));
}

TEST_CASE("value files: an error names the flag, and no value") {
  const std::string folder = *make_private_folder("/tmp", "muster-values-");
  const std::string file = folder + "/values";
  Lines environment{"A=1"}, hyperparameters;
  REQUIRE(write_file(file, "B=2\n"));
  REQUIRE(
      add_value_files({.environment = file, .hyperparameters = ""}, environment, hyperparameters));
  CHECK(environment == Lines{"A=1", "B=2"});
  REQUIRE(write_file(file, "my-secret\n"));
  const Result<void> bad =
      add_value_files({.environment = file, .hyperparameters = file}, environment, hyperparameters);
  REQUIRE(!bad);
  CHECK(bad.error().text == "--env-file: expected NAME=VALUE on each line");
  const Result<void> none = add_value_files(
      {.environment = "", .hyperparameters = folder + "/none"}, environment, hyperparameters);
  REQUIRE(!none);
  CHECK(none.error().text.starts_with("--hyperparameters: cannot open " + folder + "/none"));
  static_cast<void>(remove_tree(folder));
}

TEST_CASE("value files: a value on the command line replaces the file's") {
  const std::string folder = *make_private_folder("/tmp", "muster-values-");
  const ValueFiles files{.environment = folder + "/env", .hyperparameters = folder + "/hps"};
  REQUIRE(write_file(files.environment, "A=file\nAB=file\nB=1\nB=2\n"));
  REQUIRE(write_file(files.hyperparameters, R"({"a": 1, "b": 2, "ab": 3})"));
  Lines environment{"A=typed"}, hyperparameters{"a=9"};
  REQUIRE(add_value_files(files, environment, hyperparameters, {"b=x=y"}));
  // A name that the file itself has twice is left for the caller to refuse.
  CHECK(environment == Lines{"A=typed", "AB=file", "B=1", "B=2"});
  CHECK(hyperparameters == Lines{"a=9", "ab=3"});
  static_cast<void>(remove_tree(folder));
}
