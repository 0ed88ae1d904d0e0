#include "command/job_file.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace muster::command {
namespace {

Args fit_file(const std::string& text) {
  const Result<Given> given = read_job_file(text, page_of("fit"));
  REQUIRE_MESSAGE(given, (given ? "" : given.error().text));
  return args_of(*given);
}

TEST_CASE("job file: a value means what the same text after its flag means") {
  struct {
    const char* name;
    const char* text;
    Args want;
  } const cases[] = {
      {"script and args",
       "script: train.py\nargs: [--lr, 0.1, 'a b']",
       {"train.py", "--", "--lr", "0.1", "a b"}},
      {"plain values stay as written",
       "hyperparameter: {a: 1e-5, b: 0755, c: yes, d: 007, e: ~, f: }",
       {"--hyperparameter=a=1e-5", "--hyperparameter=b=0755", "--hyperparameter=c=yes",
        "--hyperparameter=d=007", "--hyperparameter=e=~", "--hyperparameter=f="}},
      {"a quoted hyperparameter is text",
       "hyperparameter: {a: '5', b: \"true\", c: 'x y', d: !!str 5}",
       {"--text-hyperparameter=a=5", "--text-hyperparameter=b=true", "--hyperparameter=c=x y",
        "--text-hyperparameter=d=5"}},
      {"lists and maps are JSON",
       "hyperparameter:\n  a: [1, x, '2', 1.5]\n  b: {c: true}",
       {"--hyperparameter=a=[1,\"x\",\"2\",1.5]", "--hyperparameter=b={\"c\":true}"}},
      {"a block is plain text",
       "hyperparameter:\n  a: |-\n    [1,  2]\n",
       {"--hyperparameter=a=[1,  2]"}},
      {"other values may be quoted", "hosts: '2'\nenv: {A: \"1\"}", {"--hosts=2", "--env=A=1"}},
      {"lists",
       "bind: [/a, '/b:/c']\nmetric: {loss: 'loss=(\\d+)'}",
       {"--bind=/a", "--bind=/b:/c", "--metric=loss=loss=(\\d+)"}},
      {"switches", "mpi: true\nencrypt: false", {"--mpi", "--encrypt=false"}},
      {"'_' is '-'", "source_dir: code", {"--source-dir=code"}},
      {"nothing", "bind:\nenv:\nargs:\nname:", {"--name=", "--"}},
      {"aliases", "hosts: &n 2\nprocesses-per-host: *n", {"--hosts=2", "--processes-per-host=2"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(fit_file(c.text) == c.want);
  }
}

TEST_CASE("job file: what it does not say well is refused with the line") {
  struct {
    const char* command;
    std::string text;
    const char* want;
  } const cases[] = {
      {"fit", "mpi: true\nhost: 2", "line 2: unknown key \"host\"; did you mean hosts?"},
      {"fit", "zebra: 2", "line 1: unknown key \"zebra\""},
      {"fit", "help: true", "line 1: unknown key \"help\""},
      {"fit", "hosts=2: 2", "line 1: unknown key \"hosts=2\"; did you mean hosts?"},
      {"fit", "# x\ninstance-type: local",
       "line 2: \"instance-type\" is supported only by sm submit, not by sm fit"},
      {"submit", "spares: 1", "line 1: \"spares\" is supported only by sm fit, not by sm submit"},
      {"submit", "args: [a]", "line 1: \"args\" is supported only by sm fit, not by sm submit"},
      {"fit", "hosts: 1\nhosts: 2", "line 2: the key hosts appears twice"},
      {"fit", "source-dir: a\nsource_dir: b", "line 2: the key source_dir appears twice"},
      {"fit", "env:\n  A: 1\n  A: 2", "line 3: the key A appears twice"},
      {"fit", "hosts: [1]", "line 1: hosts: expected a value, N"},
      {"fit", "mpi: yes", "line 1: mpi: expected true or false"},
      {"fit", "mpi: 'true'", "line 1: mpi: expected true or false"},
      {"fit", "bind: /a", "line 1: bind: expected a list"},
      {"fit", "bind: [[/a]]", "line 1: bind: expected a list of strings"},
      {"fit", "env: [A=1]", "line 1: env: expected a map, NAME=VALUE"},
      {"fit", "env: {A: [1]}", "line 1: env: expected a map of strings"},
      {"fit", "env: {A=B: 1}", "line 1: env: expected a name without \"=\""},
      {"fit", "hyperparameter: {a: !Ref b}", "line 1: the tag !Ref is not supported here"},
      {"fit", "hosts: !n 2", "line 1: the tag !n is not supported here"},
      {"fit", "- hosts", "line 1: expected a map of keys and values"},
      {"fit", "", "the YAML document is empty"},
      {"fit", "hosts: *x",
       "line 1: the alias *x refers to an anchor that is missing or not complete"},
      {"fit", "hyperparameter: {a: " + std::string(200, '[') + std::string(200, ']') + "}",
       "line 1: lists and maps are nested deeper than 100 levels"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Result<Given> given = read_job_file(c.text, page_of(c.command));
    REQUIRE(!given);
    CHECK(given.error().code == Errc::invalid_input);
    CHECK(given.error().text == c.want);
  }
}

TEST_CASE("job file: every flag can be in one, and --print-file writes it") {
  for (const char* name : {"fit", "submit"}) {
    const Page& page = page_of(name);
    Args all = {"train.py"};
    for (const Flag& flag : page.flags) {
      if (flag.name == "--print-file") continue;
      CAPTURE(std::string(flag.name));
      const bool text = flag.name == "--text-hyperparameter";  // "c: d" is text anyway.
      const std::string value = !is_map(flag) ? "c: d" : text ? "x=c: d" : "a b=c: d";
      Args args = {"t.py", std::string(flag.name)};
      if (flag.takes_value()) args.push_back(value);
      all.insert(all.end(), args.begin() + 1, args.end());
      const Given given = given_in(page, args);
      const Result<std::string> file = job_file_of(given, page);
      REQUIRE_MESSAGE(file, (file ? "" : file.error().text));
      const Result<Given> read = read_job_file(*file, page);
      REQUIRE(read);
      if (!text) CHECK(args_of(*read) == args_of(given));
    }
    CHECK(job_file_of(given_in(page, all), page));
  }
}

TEST_CASE("job file: values of a line are in its file as they are, whatever they look like") {
  const Given given = given_in(page_of("fit"), {"dir/my train.py",
                                                "-p",
                                                "lr=1e-5",
                                                "-p",
                                                "a={\"x\":  [1e-05,\n 2]}",
                                                "-p",
                                                "t=true",
                                                "-p",
                                                "z=null",
                                                "-p",
                                                "text=a: b # c",
                                                "-p",
                                                "empty=",
                                                "-p",
                                                "lines=a\n b\n",
                                                "-p",
                                                "e=é\x7f\xc2\x85",
                                                "--text-hyperparameter",
                                                "five=5",
                                                "-p",
                                                "q=\"5\"",
                                                "--bind",
                                                "/a b:/c",
                                                "--env",
                                                "A=~",
                                                "--env",
                                                "N o=-",
                                                "--slurm",
                                                "exclusive",
                                                "--mpi=false",
                                                "--name",
                                                "x",
                                                "--",
                                                "",
                                                "--",
                                                "-1"});
  const Result<std::string> file = job_file_of(given, page_of("fit"));
  REQUIRE_MESSAGE(file, (file ? "" : file.error().text));
  CHECK(file->find("  lr: 1e-5\n") != std::string::npos);
  CHECK(file->find("  five: \"5\"\n") != std::string::npos);
  CHECK(file->find("  a: |-\n    {\"x\":  [1e-05,\n     2]}\n") != std::string::npos);
  CHECK(job_file_of(given_in(page_of("fit"), {"t.py", "-p", "x=\xff"}), page_of("fit"))
            .error()
            .text.starts_with(
                "--print-file: YAML cannot exactly represent a value of this command line"));
}

TEST_CASE("job file: the schema has the keys of both commands") {
  const Result<Json> schema = parse_json(job_file_schema());
  REQUIRE(schema);
  const Json& keys = (*schema)["properties"];
  for (const char* name : {"fit", "submit"})
    for (const Flag& flag : page_of(name).flags) {
      CAPTURE(std::string(flag.name));
      CHECK(keys.contains(std::string(flag.name.substr(2))));
    }
  CHECK(keys["mpi"]["type"] == "boolean");
  CHECK(keys["bind"]["items"].contains("type"));
  CHECK(keys["env"]["additionalProperties"].contains("type"));
  CHECK(keys.contains("script"));
  CHECK(keys.contains("args"));
}

}  // namespace
}  // namespace muster::command
