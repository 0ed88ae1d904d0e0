#include "base/topic.h"

#include <algorithm>
#include <utility>

#include "base/terminal.h"

// The page's bytes. CMake says where it is.
__asm__(
    ".pushsection .rodata\n"
    "muster_troubleshooting_begin:\n"
    ".incbin \"" MUSTER_TROUBLESHOOTING
    "\"\n"
    "muster_troubleshooting_end:\n"
    ".popsection\n");

extern "C" {
extern const char muster_troubleshooting_begin[] __attribute__((visibility("hidden")));
extern const char muster_troubleshooting_end[] __attribute__((visibility("hidden")));
}

namespace muster {
namespace {

constexpr std::string_view gap = "…";
constexpr std::string_view block_begin = "```text";
constexpr std::string_view block_end = "```";
constexpr std::string_view note_begin = " (sm explain ";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") + 1 - first);
}

/// The first line of `rest`, without its end; takes it off.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

/// "### Title {#name}"
Topic headed(std::string_view line, std::string_view group) {
  line.remove_prefix(4);
  const std::size_t anchor = line.find(" {#");
  if (anchor == std::string_view::npos) return {.group = group, .title = line};
  const std::string_view name = line.substr(anchor + 3);
  return {.group = group, .name = name.substr(0, name.find('}')), .title = line.substr(0, anchor)};
}

/// `body`: the text below the heading.
void read_body(Topic& topic, std::string_view body) {
  body = trimmed(body);
  topic.text = body;
  if (!body.starts_with(block_begin)) return;
  take_line(body);
  while (!body.empty()) {
    const std::string_view line = take_line(body);
    if (line == block_end) break;
    topic.says.push_back(line);
  }
  topic.text = trimmed(body);
}

bool begins_clause(std::string_view message, std::size_t at) {
  return at == 0 || message.substr(0, at).ends_with(": ");
}

/// Whether the pieces of a pattern between its gaps follow each other in `message`.
bool follow(std::string_view pattern, std::string_view message) {
  while (!pattern.empty()) {
    const std::string_view piece = pattern.substr(0, pattern.find(gap));
    const std::size_t at = message.find(piece);
    if (at == std::string_view::npos) return false;
    message.remove_prefix(at + piece.size());
    pattern.remove_prefix(std::min(piece.size() + gap.size(), pattern.size()));
  }
  return true;
}

std::size_t literal_bytes(std::string_view pattern) {
  std::size_t bytes = pattern.size();
  for (std::size_t at = 0; (at = pattern.find(gap, at)) != std::string_view::npos; at += gap.size())
    bytes -= gap.size();
  return bytes;
}

}  // namespace

std::vector<Topic> read_topics(std::string_view page) {
  std::vector<Topic> topics;
  std::string_view group;
  while (!page.empty()) {
    const std::string_view line = take_line(page);
    if (line.starts_with("## ")) group = line.substr(3);
    if (!line.starts_with("### ")) continue;
    Topic topic = headed(line, group);
    const std::size_t end = page.find("\n##");
    read_body(topic, page.substr(0, end));
    if (!topic.name.empty()) topics.push_back(std::move(topic));
  }
  return topics;
}

std::size_t fit_of(std::string_view pattern, std::string_view message) {
  const std::string_view first = pattern.substr(0, pattern.find(gap));
  const std::string_view rest = pattern.substr(first.size());
  for (std::size_t at = 0; (at = message.find(first, at)) != std::string_view::npos; ++at)
    if (first.empty() || begins_clause(message, at))
      return follow(rest, message.substr(at + first.size())) ? literal_bytes(pattern) : 0;
  return 0;
}

const Topic* topic_of(const std::vector<Topic>& topics, std::string_view message) {
  const Topic* best = nullptr;
  std::pair<bool, std::size_t> most = {false, 0};
  for (const Topic& topic : topics) {
    for (const std::string_view pattern : topic.says) {
      const std::string_view first = pattern.substr(0, pattern.find(gap));
      const std::pair fit{!first.empty() && message.starts_with(first), fit_of(pattern, message)};
      if (fit.second == 0 || fit <= most) continue;
      most = fit;
      best = &topic;
    }
  }
  return best;
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all =
      read_topics({muster_troubleshooting_begin, muster_troubleshooting_end});
  return all;
}

const Topic* find_topic(std::string_view name) {
  const std::vector<Topic>& all = topics();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Topic& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view topic_name(std::string_view message) {
  const Topic* topic = topic_of(topics(), message.substr(0, message.find('\n')));
  return topic == nullptr ? std::string_view() : topic->name;
}

std::string with_topic(std::string message) {
  const std::string_view name = topic_name(message);
  if (name.empty() || message.find(note_begin) != std::string::npos) return message;
  const std::size_t end = std::min(message.find('\n'), message.size());
  return message.insert(end, std::string(note_begin) + std::string(name) + ")");
}

std::string without_topic(std::string message) {
  const std::size_t at = message.find(note_begin);
  if (at == std::string::npos) return message;
  const std::size_t end = message.find(')', at);
  return end == std::string::npos ? message : message.erase(at, end + 1 - at);
}

Result<void> say_error(int fd, std::string_view name, std::string text) {
  return say_line(fd, name, with_topic(std::move(text)));
}

}  // namespace muster
