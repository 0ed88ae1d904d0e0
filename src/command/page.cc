#include "command/page.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/result.h"

namespace muster::command {
namespace {

std::vector<Page> all_pages() {
  std::vector<Page> all;
  for (const auto part : {pages_here, pages_image, pages_server, pages_jobs, pages_cluster,
                          pages_container, pages_operators, pages_help, pages_internal}) {
    std::vector<Page> some = part();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::string with_dashes(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

}  // namespace

const std::vector<Page>& pages() {
  static const std::vector<Page> all = all_pages();
  return all;
}

const Page* find_page(std::string_view name) {
  const auto found = std::find_if(pages().begin(), pages().end(),
                                  [&](const Page& page) { return page.name == name; });
  return found == pages().end() ? nullptr : &*found;
}

const Page& page_of(std::string_view name) {
  const Page* page = find_page(name);
  CHECK_THAT(page != nullptr, "every command has a page");
  return *page;
}

std::vector<const Page*> pages_below(std::string_view name) {
  const std::string prefix = std::string(name) + " ";
  std::vector<const Page*> below;
  for (const Page& page : pages())
    if (page.name.starts_with(prefix)) below.push_back(&page);
  return below;
}

std::vector<const Page*> typed_pages(bool top) {
  std::vector<const Page*> typed;
  for (const Page& page : pages()) {
    const bool below = page.name.find(' ') != std::string_view::npos;
    if (page.group != Group::internal && !(top && below)) typed.push_back(&page);
  }
  return typed;
}

const Flag* find_flag(const Page& page, std::string_view word) {
  const std::string name = with_dashes(word.substr(0, word.find('=')));
  const auto is_it = [&](const Flag& flag) {
    return with_dashes(flag.name) == name || flag.letter == name ||
           (!flag.also.empty() && with_dashes(flag.also) == name);
  };
  if (is_it(help_flag())) return &help_flag();
  const auto found = std::find_if(page.flags.begin(), page.flags.end(), is_it);
  return found == page.flags.end() ? nullptr : &*found;
}

std::string_view last_word(const Page& page) {
  return page.name.substr(page.name.rfind(' ') + 1);  // npos + 1 is 0.
}

const Flag& help_flag() {
  static const Flag flag{.name = "--help", .help = "show this help", .letter = "-h"};
  return flag;
}

std::string_view title_of(Group group) {
  switch (group) {
    case Group::here:
      return "jobs and images on this machine";
    case Group::server:
      return "servers, and jobs on a server or on this machine";
    case Group::cluster:
      return "Slurm clusters";
    case Group::container:
      return "inside a training container";
    case Group::operators:
      return "distributed programs (run the same command on every host)";
    case Group::help:
      return "help";
    case Group::internal:
      break;
  }
  return "";
}

}  // namespace muster::command
