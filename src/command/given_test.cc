#include "command/given.h"

#include <doctest/doctest.h>

#include "command/line.h"

namespace muster::command {
namespace {

Given fit(const Args& args) {
  return given_in(page_of("fit"), args);
}

TEST_CASE("given: a line's values in either form, and its words, make the same line again") {
  const Given given = fit({"train.py", "-H", "3", "--input=a=x", "--source_dir", "code", "--mpi",
                           "--encrypt=false", "--name=", "--", "--resume", "--", "-p"});
  const Args line = {"--hosts=3",
                     "--input=a=x",
                     "--source-dir=code",
                     "--mpi",
                     "--encrypt=false",
                     "--name=",
                     "train.py",
                     "--",
                     "--resume",
                     "--",
                     "-p"};
  CHECK(args_of(given) == line);
  CHECK(args_of(fit(line)) == line);
  CHECK(given.words == Args{"train.py"});
  CHECK(!fit({"train.py"}).rest);
  CHECK(fit({"train.py", "--"}).rest == Args{});
}

TEST_CASE("given: what a page does not know is left for its line to refuse") {
  CHECK(args_of(fit({"t.py", "--hots", "3"})) == Args{"t.py", "--hots", "3"});
  CHECK(args_of(fit({"t.py", "--mpi", "--hosts"})) == Args{"--mpi", "t.py", "--hosts"});
  const Args dashes = {"t.py", "--", "--hosts", "3"};
  CHECK(args_of(given_in(page_of("submit"), dashes)) == dashes);
}

TEST_CASE("given: a value replaces the flag's others, or those with its name") {
  struct {
    Args below, above, want;
  } const cases[] = {
      {{"--hosts=1", "--mpi"}, {"--hosts=2"}, {"--mpi", "--hosts=2"}},
      {{"--mpi"}, {"--mpi=false"}, {"--mpi=false"}},
      {{"-p", "a=1", "-p", "b=2"},
       {"-p", "b=3", "-p", "c=4"},
       {"--hyperparameter=a=1", "--hyperparameter=b=3", "--hyperparameter=c=4"}},
      {{"--text-hyperparameter=a=1"}, {"-p", "a=2"}, {"--hyperparameter=a=2"}},
      {{"--env=A"}, {"--env=A=1"}, {"--env=A=1"}},
      {{"--bind=/a", "--bind=/b"}, {"--bind=/c"}, {"--bind=/c"}},
      {{"--", "a", "b"}, {}, {"--", "a", "b"}},
      {{"--", "a", "b"}, {"--", "c"}, {"--", "c"}},
      {{"--", "a", "b"}, {"--"}, {"--"}},
      {{"t.py"}, {"x"}, {"t.py", "x"}},
  };
  for (const auto& c : cases) CHECK(args_of(merged(fit(c.below), fit(c.above))) == c.want);
}

TEST_CASE("given: relative paths start at a folder, whatever flag has them") {
  struct {
    const char* given;
    const char* want;
  } const cases[] = {
      {"--source-dir=code", "--source-dir=/f/code"},
      {"--source-dir=/code", "--source-dir=/code"},
      {"--source-dir=s3://b/code.tar.gz", "--source-dir=s3://b/code.tar.gz"},
      {"--input=train=data=1", "--input=train=/f/data=1"},
      {"--input=train=s3://b/x", "--input=train=s3://b/x"},
      {"--input=odd", "--input=odd"},
      {"--bind=data:/data:ro", "--bind=/f/data:/data:ro"},
      {"--output=../out", "--output=/f/../out"},
      {"--output=", "--output="},
      {"--env-file=vars", "--env-file=/f/vars"},
      {"--python=python3.12", "--python=python3.12"},
      {"--python=venv/bin/python", "--python=/f/venv/bin/python"},
      {"--image=oci:box:v1", "--image=oci:/f/box:v1"},
      {"--image=docker-archive:/box.tar", "--image=docker-archive:/box.tar"},
      {"--image=team/box", "--image=team/box"},
      {"--hyperparameter=a=b/c", "--hyperparameter=a=b/c"},
      {"--env=A=b/c", "--env=A=b/c"},
  };
  for (const auto& c : cases) CHECK(args_of(with_paths_from("/f", fit({c.given}))) == Args{c.want});
}

TEST_CASE("given: JSON values keep their type, but for strings") {
  for (const char* typed : {"1", "-1e-5", "true", "null", "[1, 2]", "{}"}) CHECK(is_typed(typed));
  for (const char* text : {"", "0755", "yes", "\"1\"", " 1", "1 ", "True", "[1", "x"})
    CHECK(!is_typed(text));
}

}  // namespace
}  // namespace muster::command
