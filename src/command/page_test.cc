#include "command/page.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "command/help.h"
#include "command/line.h"

namespace muster::command {
namespace {

bool is_sentence(std::string_view text) {
  return !text.empty() && text.front() >= 'A' && text.front() <= 'Z' && text.ends_with(".");
}

TEST_CASE("pages: every command has a unique name, texts, examples and exit codes") {
  std::set<std::string_view> names;
  for (const Page& page : pages()) {
    CAPTURE(std::string(page.name));
    CHECK(names.insert(page.name).second);
    CHECK(find_page(page.name) == &page);
    CHECK(is_sentence(page.about));
    CHECK(!page.brief.empty());
    CHECK(!page.brief.ends_with("."));
    CHECK(!page.exits.empty());
    CHECK((page.group == Group::internal) == page.examples.empty());
    for (const Example& example : page.examples)
      CHECK(example.line.find(page.name.substr(0, page.name.find(' '))) != std::string_view::npos);
    const std::size_t space = page.name.find(' ');
    if (space != std::string_view::npos) {
      REQUIRE(find_page(page.name.substr(0, space)) != nullptr);
      CHECK(find_page(page.name.substr(0, space))->group == page.group);
    }
  }
  CHECK(find_page("frobnicate") == nullptr);
}

TEST_CASE("pages: a flag's name is its own, and it has a text") {
  for (const Page& page : pages()) {
    std::set<std::string_view> names = {"--help", "-h"};
    for (const Flag& flag : page.flags) {
      CAPTURE(std::string(flag.name));
      CHECK(flag.name.starts_with("--"));
      CHECK(names.insert(flag.name).second);
      if (!flag.also.empty()) CHECK(names.insert(flag.also).second);
      if (!flag.letter.empty()) CHECK(names.insert(flag.letter).second);
      CHECK((flag.letter.empty() || (flag.letter.size() == 2 && flag.letter[0] == '-')));
      CHECK(!flag.help.empty());
      CHECK(!flag.help.ends_with("."));
      CHECK((!flag.many || flag.takes_value()));
      CHECK((flag.choices.empty() || flag.takes_value()));
    }
  }
}

TEST_CASE("pages: the parser takes each flag that help shows, alone and with all others") {
  for (const Page& page : pages()) {
    CAPTURE(std::string(page.name));
    Line line(page);
    std::vector<std::string> texts(page.flags.size() + page.operands.size());
    std::vector<std::vector<std::string>> lists(texts.size());
    const auto set = std::make_unique<bool[]>(texts.size());
    Args all;
    std::size_t at = 0;
    for (const Flag& flag : page.flags) {
      CHECK(help_of(page).find(shown(flag)) != std::string::npos);
      all.emplace_back(flag.name);
      if (flag.takes_value()) all.emplace_back("value of " + std::string(flag.name));
      if (flag.many)
        line.texts(flag.name, lists[at]);
      else if (flag.takes_value())
        line.text(flag.name, texts[at]);
      else
        line.flag(flag.name, set[at]);
      ++at;
    }
    for (const Operand& operand : page.operands) {
      all.emplace_back("word");
      if (operand.many)
        line.texts(operand.name, lists[at++]);
      else
        line.text(operand.name, texts[at++]);
    }
    if (page.rest != Rest::none) all.insert(all.end(), {"--", "program"});
    const std::optional<Stop> stop = line.parse(all);
    CAPTURE((stop ? stop->text : std::string()));
    CHECK(!stop);
    for (std::size_t i = 0; i < page.flags.size(); ++i) {
      const Flag& flag = page.flags[i];
      const std::string want = "value of " + std::string(flag.name);
      CAPTURE(want);
      CHECK((flag.many ? lists[i] == Args{want} : flag.takes_value() ? texts[i] == want : set[i]));
    }
  }
}

TEST_CASE("help: it fits a terminal, and the overview shows every command once") {
  for (const Page& page : pages())
    for (const std::string& line : split(help_of(page), '\n')) {
      const bool wide = line.starts_with("  sm ") || line.starts_with("  SAGE") ||
                        line.starts_with("  eval") || line.starts_with("usage: ") ||
                        line.starts_with("       sm ");
      CAPTURE(line);
      CHECK((wide || to_utf8(line).size() <= 84));  // Bytes: some characters have three.
    }
  for (const Page* page : typed_pages(true))
    CHECK(overview().find("\n  " + std::string(page->name) + " ") != std::string::npos);
  for (const std::string& line : split(overview(), '\n')) CHECK(line.size() <= 100);
  CHECK(overview().find("steward") == std::string::npos);
}

TEST_CASE("exit codes: docs/protocols/exit-codes.md has those of every command") {
  const Result<std::string> doc = read_file(MUSTER_SOURCE_DIR "/docs/protocols/exit-codes.md");
  REQUIRE(doc);
  std::size_t rows = 0;
  for (const std::string& line : split(*doc, '\n')) rows += line.starts_with("| `sm ") ? 1 : 0;
  std::set<std::string> found;
  for (const Page* page : typed_pages(false))
    for (const Exit& exit : page->exits) {
      const std::string name = "`sm " + std::string(page->name) + "`";
      const std::string end =
          " | " + std::string(exit.code) + " | " + std::string(exit.meaning) + " |";
      bool stands = false;
      for (const std::string& line : split(*doc, '\n')) {
        if (line.find(name) == std::string::npos || !line.ends_with(end)) continue;
        stands = true;
        found.insert(line);
      }
      CAPTURE((name + end));
      CHECK(stands);
    }
  CHECK(found.size() == rows);  // None is there that no command has.
}

TEST_CASE("help: words are wrapped, none is lost") {
  CHECK(wrapped("aa bb cc", 2, 7) == "aa bb\n  cc\n");
  CHECK(wrapped("aaaaaaaaaa b", 2, 7) == "aaaaaaaaaa\n  b\n");
  CHECK(wrapped("", 2, 7) == "\n");
  CHECK(wrapped("\xe2\x80\xa6\xe2\x80\xa6 b", 0, 4) == "\xe2\x80\xa6\xe2\x80\xa6 b\n");
}

TEST_CASE("help: a line of usage for each form") {
  CHECK(synopsis(page_of("fit")) == Args{"sm fit [FLAGS] [SCRIPT] [-- ARGS]"});
  CHECK(synopsis(page_of("submit")) == Args{"sm submit [FLAGS] [SCRIPT]"});
  CHECK(synopsis(page_of("key")) == Args{"sm key COMMAND [ARGS]"});
  CHECK(synopsis(page_of("mpirun")) == Args{"sm mpirun [FLAGS] [--] PROGRAM [ARGS]"});
  CHECK(synopsis(page_of("env")).size() == 4);
  CHECK(shown(page_of("logs").flags.front()) == "-f, --follow");
}

}  // namespace
}  // namespace muster::command
