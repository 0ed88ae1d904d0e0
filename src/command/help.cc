#include "command/help.h"

#include <algorithm>

#include "base/text.h"

namespace muster::command {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t help_column_max = 32;

/// Characters, not bytes.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

struct Row {
  std::string left;
  std::string right;
};

std::string table(const std::vector<Row>& rows) {
  std::size_t column = 0;
  for (const Row& row : rows)
    column = std::max(column, std::min(width(row.left) + 4, help_column_max));
  std::string text;
  for (const Row& row : rows) {
    text += "  " + row.left;
    const std::size_t used = width(row.left) + 2;
    text += used + 2 > column ? "\n" + std::string(column, ' ') : std::string(column - used, ' ');
    text += wrapped(row.right, column, columns);
  }
  return text;
}

std::string section(std::string_view title, const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  return "\n" + std::string(title) + ":\n" + table(rows);
}

std::string examples_of(const Page& page) {
  if (page.examples.empty()) return {};
  std::string text = "\nexamples:\n";
  for (const Example& example : page.examples) {
    for (const std::string& line : muster::split(example.line, '\n')) text += "  " + line + "\n";
    if (!example.says.empty()) text += std::string(6, ' ') + wrapped(example.says, 6, columns);
  }
  return text;
}

std::vector<Row> commands_of(const std::vector<const Page*>& pages, Group group) {
  std::vector<Row> rows;
  for (const Page* page : pages)
    if (page->group == group)
      rows.push_back({std::string(last_word(*page)), std::string(page->brief)});
  return rows;
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t column, std::size_t most) {
  std::string result;
  std::size_t at = column;
  for (const std::string& word : split_words(text)) {
    const bool first = at == column;
    if (!first && at + 1 + width(word) > most) {
      result += "\n" + std::string(column, ' ');
      at = column;
    } else if (!first) {
      result += " ";
      ++at;
    }
    result += word;
    at += width(word);
  }
  return result + "\n";
}

std::vector<std::string> synopsis(const Page& page) {
  const std::string name = "sm " + std::string(page.name);
  std::vector<std::string> lines;
  for (const std::string_view form : page.usage) lines.push_back(name + " " + std::string(form));
  if (!lines.empty()) return lines;
  std::string line = name;
  if (!pages_below(page.name).empty()) return {line + " COMMAND [ARGS]"};
  if (!page.flags.empty()) line += " [FLAGS]";
  for (const Operand& operand : page.operands) {
    const std::string word = std::string(operand.name) + (operand.many ? " ..." : "");
    line += operand.required ? " " + word : " [" + word + "]";
  }
  const std::string rest(page.rest_name);
  if (page.rest == Rest::program) line += " [--] " + rest;
  if (page.rest == Rest::behind_dashes)
    line += page.rest_optional ? " [-- " + rest + "]" : " -- " + rest;
  return {line};
}

std::string shown(const Flag& flag) {
  std::string text(flag.name);
  if (!flag.letter.empty()) text = std::string(flag.letter) + ", " + text;
  if (flag.takes_value()) text += " " + std::string(flag.value);
  return text;
}

std::string described(const Flag& flag) {
  return std::string(flag.help) + (flag.many ? " (repeatable)" : "");
}

std::string help_of(const Page& page, const std::string& more) {
  std::string text;
  for (const std::string& line : synopsis(page))
    text += (text.empty() ? "usage: " : "       ") + line + "\n";
  text += "\n" + wrapped(page.about, 0, columns);
  text += section("commands", commands_of(pages_below(page.name), page.group));
  std::vector<Row> operands;
  for (const Operand& operand : page.operands)
    operands.push_back({std::string(operand.name), std::string(operand.help)});
  text += section("arguments", operands);
  std::vector<Row> flags;
  for (const Flag& flag : page.flags) flags.push_back({shown(flag), described(flag)});
  flags.push_back({shown(help_flag()), std::string(help_flag().help)});
  text += section("flags", flags) + examples_of(page);
  for (const std::string_view note : page.notes) text += "\n" + wrapped(note, 0, columns);
  if (!more.empty()) text += "\n" + more;
  std::vector<Row> exits;
  for (const Exit& exit : page.exits)
    exits.push_back({std::string(exit.code), std::string(exit.meaning)});
  return text + section("exit codes", exits);
}

std::string overview() {
  std::string text =
      "muster runs SageMaker training jobs on your own machines.\n\nusage: sm COMMAND [ARGS]\n";
  const std::vector<const Page*> pages = typed_pages(true);
  for (const Group group : {Group::here, Group::server, Group::cluster, Group::container,
                            Group::operators, Group::help})
    text += section(title_of(group), commands_of(pages, group));
  return text +
         "\nexamples:\n"
         "  sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out\n"
         "  sm submit train.py --wait\n"
         "  sm fit --help\n"
         "  sm doctor\n";
}

}  // namespace muster::command
