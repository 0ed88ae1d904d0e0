#include "job/launch/launchers.h"

#include <doctest/doctest.h>

#include "base/text.h"
#include "command/page.h"
#include "host/operators/operator_commands.h"
#include "host/operators/planning.h"

namespace muster::operators {
namespace {

// The room command knows no launcher, the room launch no page: here the two tables meet.

TEST_CASE("launchers: each operator has a page, and each page of an operator a launcher") {
  for (const launch::LauncherRow& row : launch::launchers())
    for (const launch::Operator& each : row.operators) {
      CAPTURE(std::string(each.name));
      const command::Page* page = command::find_page(each.name);
      REQUIRE(page != nullptr);
      CHECK(page->group == command::Group::operators);
      CHECK(page->rest == command::Rest::program);
    }
  int pages = 0;
  for (const command::Page& page : command::pages()) {
    const bool parent = !command::pages_below(page.name).empty();
    const bool runs_no_program = page.rest != command::Rest::program;
    if (page.group != command::Group::operators || page.name == "mpirun" || parent) continue;
    if (runs_no_program) continue;
    CAPTURE(std::string(page.name));
    CHECK(launch::operator_named(page.name).found != nullptr);
    CHECK(is_operator(std::string(page.name.substr(0, page.name.find(' ')))));
    ++pages;
  }
  CHECK(pages >= 5);
  CHECK(is_operator("tf"));
  CHECK(!is_operator("mpirun"));
  CHECK(!is_operator("multi-worker"));
}

TEST_CASE("launchers: sm toolkit run offers those that have a plan") {
  Args names;
  for (const launch::LauncherRow& row : launch::launchers())
    if (row.plan != nullptr) names.emplace_back(row.name);
  for (const command::Flag& flag : command::page_of("toolkit run").flags)
    if (flag.name == "--runner") CHECK(flag.choices == join(names, " "));
}

TEST_CASE("launchers: the error for a missing module says what to install") {
  struct {
    std::string_view module;
    std::string python;
    std::string error;
  } const cases[] = {
      {"", "python3", ""},
      {"json", "python3", ""},
      {"muster_has_no_such", "python3",
       "python3 has no module muster_has_no_such: pip install such"},
      {"muster_has_no_such", "no-python-at-all", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(std::string(c.module));
    const launch::LauncherRow row{.name = "x",
                                  .needs = {.module = c.module, .install = "pip install such"}};
    const Result<void> checked = check_needs(row, c.python, {{}, {{"PATH", "/usr/bin"}}, "/"});
    CHECK(checked.has_value() == c.error.empty());
    if (!checked) CHECK(checked.error().text == c.error);
    if (!checked) CHECK(checked.error().code == Errc::not_found);
  }
}

}  // namespace
}  // namespace muster::operators
