#include "command/man.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "command/help.h"

namespace muster::command {
namespace {

/// A character of UTF-8 as roff names it: "\[u2026]".
std::string named_character(std::string_view bytes) {
  unsigned code = static_cast<unsigned char>(bytes[0]) & (0xffu >> (bytes.size() + 1));
  for (const char byte : bytes.substr(1))
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
  char name[16];
  std::snprintf(name, sizeof(name), "\\[u%04X]", code);
  return name;
}

/// An argument of a macro: in quotes, since it may hold spaces.
std::string argument(std::string_view text) {
  return "\"" + escaped(text) + "\"";
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

std::string section(std::string_view title) {
  return ".SH " + std::string(title) + "\n";
}

std::string paragraph(std::string_view text) {
  return ".PP\n" + escaped(text) + "\n";
}

std::string entry(std::string_view what, std::string_view says) {
  return ".TP\n.B " + argument(what) + "\n" + escaped(says) + "\n";
}

std::string head(std::string_view name, std::string_view brief) {
  return ".\\\" Written by `sm man`, from the table of commands.\n.TH " + upper(man_name(name)) +
         " 1 \"\" \"muster " MUSTER_VERSION "\" \"muster\"\n.nh\n.ad l\n" + section("NAME") +
         escaped(man_name(name)) + " \\- " + escaped(brief) + "\n";
}

std::string synopsis_of(const std::vector<std::string>& lines) {
  std::string text = section("SYNOPSIS") + ".nf\n";
  for (const std::string& line : lines) text += escaped(line) + "\n";
  return text + ".fi\n";
}

std::string examples_of(const std::vector<Example>& examples) {
  if (examples.empty()) return {};
  std::string text;
  for (const Example& example : examples) {
    text += text.empty() ? section("EXAMPLES") : ".PP\n";
    if (!example.says.empty()) text += escaped(std::string(example.says) + ":") + "\n.PP\n";
    text += ".nf\n.RS 4\n" + escaped(example.line) + "\n.RE\n.fi\n";
  }
  return text;
}

/// "sm(1), sm-key(1)".
std::string references(const std::vector<std::string>& names) {
  std::string text = section("SEE ALSO");
  for (std::size_t i = 0; i < names.size(); ++i)
    text += ".BR " + argument(names[i]) + " (1)" + (i + 1 < names.size() ? ",\n" : "\n");
  return text;
}

/// The page above, those below, and its group's.
std::vector<std::string> neighbours(const Page& page) {
  std::vector<std::string> names = {"sm"};
  const std::size_t space = page.name.find(' ');
  if (space != std::string_view::npos) names.push_back(man_name(page.name.substr(0, space)));
  for (const Page* below : pages_below(page.name)) names.push_back(man_name(below->name));
  for (const Page* other : typed_pages(true))
    if (space == std::string_view::npos && other->group == page.group && other->name != page.name)
      names.push_back(man_name(other->name));
  return names;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const std::size_t length = std::max<std::size_t>(utf8_length(text.substr(at)), 1);
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    begins = c == '\n';
    if (length > 1)
      result += named_character(text.substr(at, length));
    else if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '"')
      result += "\\(dq";
    else if (c == '\'')
      result += "\\(aq";
    else if (c == '`')
      result += "\\(ga";
    else if (c == '~')
      result += "\\(ti";
    else if (c == '^')
      result += "\\(ha";
    else
      result += c;
    at += length;
  }
  return result;
}

std::string man_name(std::string_view name) {
  std::string result = name.empty() ? "sm" : "sm-" + std::string(name);
  std::replace(result.begin(), result.end(), ' ', '-');
  return result;
}

std::string man_page(const Page& page) {
  std::string text = head(page.name, page.brief) + synopsis_of(synopsis(page)) +
                     section("DESCRIPTION") + escaped(page.about) + "\n";
  for (const std::string_view note : page.notes) text += paragraph(note);
  const std::vector<const Page*> below = pages_below(page.name);
  if (!below.empty()) text += section("COMMANDS");
  for (const Page* each : below) text += entry(last_word(*each), each->brief);
  if (!page.operands.empty()) text += section("ARGUMENTS");
  for (const Operand& operand : page.operands) text += entry(operand.name, operand.help);
  text += section("OPTIONS");
  for (const Flag& flag : page.flags) text += entry(shown(flag), described(flag));
  text += entry(shown(help_flag()), "show help");
  text += section("EXIT STATUS");
  for (const Exit& exit : page.exits) text += entry(exit.code, exit.meaning);
  return text + examples_of(page.examples) + references(neighbours(page));
}

std::string man_overview() {
  std::string text = head("", "run SageMaker training jobs on your own machines") +
                     synopsis_of({"sm COMMAND [ARGS]", "train [FLAGS]"}) + section("DESCRIPTION") +
                     "muster runs SageMaker training jobs on your own machines.\n";
  std::vector<std::string> names;
  Group group = Group::internal;
  for (const Page* page : typed_pages(true)) {
    if (page->group != group) text += ".SS " + argument(title_of(page->group)) + "\n";
    group = page->group;
    text += entry(page->name, page->brief);
    names.push_back(man_name(page->name));
  }
  text += section("OPTIONS") + entry("--help", "list the commands") +
          entry("--version", "print the version");
  text +=
      section("EXIT STATUS") +
      escaped(
          "Each command's page lists its exit codes. For most commands, 2 means a usage error.") +
      "\n";
  const std::vector<Example> examples = {{page_of("fit").examples.front()}, {"sm doctor"}};
  return text + examples_of(examples) + references(names);
}

}  // namespace muster::command
