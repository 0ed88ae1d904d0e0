#include "command/line.h"

#include <doctest/doctest.h>

#include <memory>

#include "command/help.h"

namespace muster::command {
namespace {

Page page_with(Rest rest) {
  return {.name = "test",
          .group = Group::here,
          .brief = "test",
          .about = "Tests.",
          .rest = rest,
          .rest_name = "PROGRAM [ARGS]",
          .flags = {{"--hosts", "N", "number"},
                    {.name = "--process_per_hosts",
                     .value = "TEXT",
                     .help = "text",
                     .also = "--processes-per-host",
                     .letter = "-p"},
                    {"--input", "NAME=DIR", "inputs", "", true},
                    {.name = "--follow", .help = "flag", .letter = "-f"}},
          .last_wins = rest == Rest::program};
}

struct Read {
  int hosts = 7;
  std::string text = "kept";
  std::vector<std::string> inputs;
  bool follow = false;
  Args rest;
  std::optional<Stop> stop;

  std::string wrong() const { return stop && stop->exit_code == 2 ? stop->text : "nothing"; }
};

Read read(const Page& page, const Args& args) {
  Read read;
  Line line(page);
  line.number("--hosts", read.hosts, 1, 250);
  line.text("--process_per_hosts", read.text);
  line.texts("--input", read.inputs);
  line.flag("--follow", read.follow);
  read.stop = line.parse(args);
  read.rest = line.rest();
  return read;
}

TEST_CASE("line: values go where they belong, whatever they look like") {
  const Page page = page_with(Rest::none);
  CHECK(read(page, {}).hosts == 7);
  CHECK(read(page, {}).text == "kept");
  for (const char* value : {"x", "-1", "--hosts", "{}", "[a,b]", "a,b", "a=b", "=", "--", "%%",
                            "'a b'", "\x1b[1m", "-f", "--help", "-h", "a\nb"}) {
    CAPTURE(value);
    const Read apart = read(page, {"--process_per_hosts", value, "-f"});
    REQUIRE(!apart.stop);
    CHECK(apart.text == value);
    CHECK(apart.follow);
    CHECK(read(page, {std::string("--process_per_hosts=") + value}).text == value);
    const Read many = read(page, {"--input", value, "--input", "b=c"});
    CHECK(many.inputs == Args{value, "b=c"});
    CHECK(read(page, {"-p", value}).text == value);
    CHECK(read(page, {"-p", value}).text == value);
  }
  CHECK(read(page, {"--process_per_hosts", ""}).text.empty());
  CHECK(read(page, {"--process_per_hosts="}).text.empty());
  CHECK(read(page, {"--input", "", "--input="}).inputs == Args{"", ""});
  CHECK(read(page, {"--hosts=12", "--follow"}).hosts == 12);
}

TEST_CASE("line: a flag has its other names, and '_' is '-'") {
  const Page page = page_with(Rest::none);
  for (const char* name : {"--process_per_hosts", "--process-per-hosts", "--processes-per-host",
                           "--processes_per_host", "--process-per_hosts"})
    CHECK(read(page, {name, "3"}).text == "3");
  CHECK(read(page, {"-f"}).follow);
}

TEST_CASE("line: an error is one line, with the nearest flag") {
  struct {
    Args args;
    const char* wrong;
  } const cases[] = {
      {{"--host", "3"}, "unknown flag \"--host\"; did you mean --hosts?"},
      {{"--host=secret"}, "unknown flag \"--host\"; did you mean --hosts?"},
      {{"--folow"}, "unknown flag \"--folow\"; did you mean --follow?"},
      {{"--hlep"}, "unknown flag \"--hlep\"; did you mean --help?"},
      {{"--frobnicate"}, "unknown flag \"--frobnicate\""},
      {{"-x"}, "unknown flag \"-x\""},
      {{"word"}, "unexpected argument \"word\""},
      {{"-"}, "unexpected argument \"-\""},
      {{"--", "--hosts"}, "unexpected argument \"--hosts\""},
      {{"--hosts"}, "--hosts: expected a value (N)"},
      {{"--hosts", "0"}, "--hosts: expected a whole number from 1 to 250, got \"0\""},
      {{"--hosts", "251"}, "--hosts: expected a whole number from 1 to 250, got \"251\""},
      {{"--hosts="}, "--hosts: expected a whole number from 1 to 250, got \"\""},
      {{"--hosts", "1", "--hosts", "2"}, "--hosts was given twice"},
      {{"--\x1b[1m"}, "unknown flag \"--\\x1b[1m\""},
  };
  for (const auto& one : cases) {
    CAPTURE(std::string(one.wrong));
    CHECK(read(page_with(Rest::none), one.args).wrong() == std::string(one.wrong));
  }
}

TEST_CASE("line: an operator's words end at its program") {
  struct {
    Args args;
    Args rest;
    int hosts;
  } const cases[] = {
      {{"prog"}, {"prog"}, 7},
      {{"prog", "--hosts", "3", "--", "-f"}, {"prog", "--hosts", "3", "--", "-f"}, 7},
      {{"--hosts", "3", "prog", "--hosts", "4"}, {"prog", "--hosts", "4"}, 3},
      {{"--hosts=3", "--", "--hosts"}, {"--hosts"}, 3},
      {{"--hosts", "2", "--hosts", "3", "prog"}, {"prog"}, 3},
      {{"-f", "", "x"}, {"", "x"}, 7},
      {{"--process_per_hosts", "--", "prog"}, {"prog"}, 7},
      {{"-p", "x", "-p", "3", "prog", "-p"}, {"prog", "-p"}, 7},
  };
  for (const auto& one : cases) {
    CAPTURE(one.rest);
    const Read got = read(page_with(Rest::program), one.args);
    CHECK(got.wrong() == "nothing");
    CHECK(got.rest == one.rest);
    CHECK(got.hosts == one.hosts);
  }
  CHECK(read(page_with(Rest::program), {"-f"}).wrong() == "expected a program to run");
  CHECK(read(page_with(Rest::program), {"--x", "prog"}).wrong() == "unknown flag \"--x\"");
  Page passing = page_with(Rest::program);
  passing.passes_flags_on = true;
  const Read passed =
      read(passing, {"--hosts", "3", "--max-restarts", "2", "--hosts", "4", "t.py"});
  CHECK(passed.hosts == 3);
  CHECK(passed.rest == Args{"--max-restarts", "2", "--hosts", "4", "t.py"});
}

TEST_CASE("line: words behind -- are the rest") {
  const Page page = page_with(Rest::behind_dashes);
  CHECK(read(page, {"-f", "--", "--x", "--", "y"}).rest == Args{"--x", "--", "y"});
  CHECK(read(page, {"-f"}).wrong() == "expected -- PROGRAM [ARGS]");
  CHECK(read(page, {"word", "--", "x"}).wrong() == "unexpected argument \"word\"");
}

TEST_CASE("line: an unknown flag where a program's own stand behind -- says so") {
  Page page = page_with(Rest::behind_dashes);
  page.operands = {{"SCRIPT", "a"}};
  page.rest_optional = true;
  page.flags = {{.name = "--hosts", .value = "N", .help = "number", .letter = "-H"}};
  const auto wrong = [&](const Args& args) {
    std::string script, hosts;
    Line line(page);
    line.text("SCRIPT", script);
    line.text("--hosts", hosts);
    const std::optional<Stop> stop = line.parse(args);
    return stop ? stop->text : "hosts: " + hosts;
  };
  CHECK(wrong({"t.py", "--lr=0.1"}) ==
        "unknown flag \"--lr\"; put flags for SCRIPT itself after --: SCRIPT -- --lr=0.1");
  CHECK(wrong({"t.py", "--host", "3"}) ==
        "unknown flag \"--host\"; did you mean --hosts? Put flags for SCRIPT itself after "
        "--: SCRIPT -- --host");
  CHECK(wrong({"t.py", "-H", "3"}) == "hosts: 3");
  CHECK(wrong({"t.py", "-H3", "--", "--lr", "1"}) == "hosts: 3");
}

TEST_CASE("line: help is the page's, and wins over what else is wrong") {
  for (const Args& args : {Args{"--help"}, Args{"-h"}, Args{"--frobnicate", "--help"}}) {
    const Read got = read(page_with(Rest::none), args);
    REQUIRE(got.stop);
    CHECK(got.stop->exit_code == 0);
    CHECK(got.stop->text == help_of(page_with(Rest::none)));
  }
  CHECK(!read(page_with(Rest::program), {"prog", "--help"}).stop);
}

TEST_CASE("line: operands take words in order, after -- also those that look like flags") {
  const Page page{
      .name = "test",
      .group = Group::here,
      .brief = "test",
      .about = "Tests.",
      .operands = {{"FROM", "a"}, {"TO", "b", false}, {"MORE", "c", false, "", "", true}},
      .flags = {{"--where", "PLACE", "text"}}};
  struct {
    Args args;
    Args want;
    const char* wrong;
  } const cases[] = {
      {{"a"}, {"a", "", "none"}, "nothing"},
      {{"a", "b", "c", "d"}, {"a", "b", "none", "c", "d"}, "nothing"},
      {{"--", "-a", "--where"}, {"-a", "--where", "none"}, "nothing"},
      {{"a", "--where=", "b"}, {"a", "b", ""}, "nothing"},
      {{"", ""}, {"", "", "none"}, "nothing"},
      {{}, {"", "", "none"}, "FROM is required"},
      {{"--wher", "x"}, {"", "", "none"}, "unknown flag \"--wher\"; did you mean --where?"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.args);
    std::string from, to;
    std::optional<std::string> where;
    Args more;
    Line line(page);
    line.text("FROM", from);
    line.text("TO", to);
    line.text("--where", where);
    line.texts("MORE", more);
    const std::optional<Stop> stop = line.parse(one.args);
    CHECK((stop ? stop->text : "nothing") == std::string(one.wrong));
    Args got = {from, to, where.value_or("none")};
    got.insert(got.end(), more.begin(), more.end());
    CHECK(got == one.want);
  }
}

/// What the parser says of a line of a command that people type.
std::string wrong_of(const Page& page, const Args& args) {
  Line line(page);
  std::vector<std::string> texts(page.flags.size() + page.operands.size());
  std::vector<std::vector<std::string>> lists(texts.size());
  const auto set = std::make_unique<bool[]>(texts.size());
  std::size_t at = 0;
  for (const Flag& flag : page.flags) {
    if (flag.many)
      line.texts(flag.name, lists[at++]);
    else if (flag.takes_value())
      line.text(flag.name, texts[at++]);
    else
      line.flag(flag.name, set[at++]);
  }
  for (const Operand& operand : page.operands) {
    if (operand.many)
      line.texts(operand.name, lists[at++]);
    else
      line.text(operand.name, texts[at++]);
  }
  const std::optional<Stop> stop = line.parse(args);
  return stop && stop->exit_code == 2 ? stop->text : "nothing";
}

TEST_CASE("line: a typo in a command that people type is reported with a suggestion") {
  struct {
    const char* command;
    Args args;
    const char* want;
  } const cases[] = {
      {"fit", {"x.py", "--host", "3"}, "unknown flag \"--host\"; did you mean --hosts?"},
      {"submit", {"--nmae", "x"}, "unknown flag \"--nmae\"; did you mean --name?"},
      {"server", {"--listne=x"}, "unknown flag \"--listne\"; did you mean --listen?"},
      {"key list", {"--jsn"}, "unknown flag \"--jsn\"; did you mean --json?"},
      {"mpirun", {"--no-such-flag"}, "unknown flag \"--no-such-flag\""},
      {"clean", {"all"}, "unexpected argument \"all\""},
      {"jobs", {"--limit"}, "--limit: expected a value (N)"},
      {"describe", {}, "JOB is required"},
      {"key delete", {}, "KEY_ID is required"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.command);
    CHECK(wrong_of(page_of(c.command), c.args).starts_with(c.want));
  }
}

TEST_CASE("line: the first word names a command below another") {
  const auto below = [](const Args& args) { return command_below("key", args); };
  CHECK(std::get<const Page*>(below({"list", "--x"})) == &page_of("key list"));
  CHECK(std::get<Stop>(below({})).text == "expected a command");
  CHECK(std::get<Stop>(below({"--x"})).text == "unknown flag \"--x\"");
  CHECK(std::get<Stop>(below({"lits"})).text == "unknown command \"lits\"; did you mean list?");
  CHECK(std::get<Stop>(below({"--help"})).text == help_of(page_of("key")));
}

TEST_CASE("line: an unknown command gets the nearest one") {
  CHECK(no_command("", "fti", typed_pages(true)).text ==
        "unknown command \"fti\"; did you mean fit?");
  CHECK(no_command("", "sumbit", typed_pages(true)).text ==
        "unknown command \"sumbit\"; did you mean submit?");
  CHECK(no_command("", "frobnicate", typed_pages(true)).text == "unknown command \"frobnicate\"");
  CHECK(no_command("", "serv", typed_pages(true)).text == "unknown command \"serv\"");
  CHECK(no_command("key", "lst", pages_below("key")).text ==
        "unknown command \"lst\"; did you mean list?");
  CHECK(no_command("key", "crate", pages_below("key")).text ==
        "unknown command \"crate\"; did you mean create?");
  CHECK(text_of(no_command("key", "make", pages_below("key"))) ==
        "sm key: unknown command \"make\" (sm explain bad-command)\nsee sm key --help\n");
  CHECK(no_command("image", "lst", pages_below("image")).text ==
        "unknown command \"lst\"; did you mean ls?");
  CHECK(
      text_of(no_command("key", "", pages_below("key"))).starts_with("sm key: expected a command"));
  CHECK(text_of(no_command("key", "x", {})) ==
        "sm key: unknown command \"x\" (sm explain bad-command)\nsee sm key --help\n");
}

}  // namespace
}  // namespace muster::command
