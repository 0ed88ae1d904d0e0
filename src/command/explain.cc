#include "command/explain.h"

#include <algorithm>

#include "base/text.h"
#include "command/help.h"

namespace muster::command {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t title_column = 21;

/// "[text](target)" -> "text", "**text**" -> "text". Quotes of code stay: they show what to type.
std::string without_marks(std::string text) {
  std::size_t at = 0;
  while ((at = text.find("](", at)) != std::string::npos) {
    const std::size_t open = text.rfind('[', at);
    const std::size_t end = text.find(')', at);
    if (open == std::string::npos || end == std::string::npos) break;
    text.erase(at, end + 1 - at);
    text.erase(open, 1);
  }
  while ((at = text.find("**")) != std::string::npos) text.erase(at, 2);
  return text;
}

}  // namespace

std::string explained(const Topic& topic) {
  std::string text = std::string(topic.title) + " (" + std::string(topic.name) + ")\n\n";
  for (const std::string_view message : topic.says) text += "    " + std::string(message) + "\n";
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) text += "\n" + wrapped(paragraph, 0, columns);
    paragraph.clear();
  };
  for (const std::string& line : split(without_marks(std::string(topic.text)), '\n')) {
    if (line.empty())
      end_paragraph();
    else
      paragraph += " " + line;
  }
  end_paragraph();
  return text;
}

std::string topic_list(const std::vector<Topic>& topics) {
  std::string text = wrapped(
      "Topics that explain muster's messages. Each message ends with the name of its topic. sm "
      "explain TOPIC shows the explanation.",
      0, columns);
  std::string_view group;
  for (const Topic& topic : topics) {
    if (topic.group != group) text += "\n" + std::string(topic.group) + ":\n";
    group = topic.group;
    std::string name = "  " + std::string(topic.name);
    name.resize(std::max(name.size() + 2, title_column), ' ');
    text += name + wrapped(topic.title, name.size(), columns);
  }
  return text;
}

}  // namespace muster::command
