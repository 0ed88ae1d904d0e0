#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

/// A class of errors with a name, and what to do about them: a section of
/// docs/users/troubleshooting.md, which the program carries. Why: docs/decisions/0031-topics.md.
struct Topic {
  std::string_view group{};  ///< "Before a job starts"
  std::string_view name{};   ///< "needs-root": the section's anchor.
  std::string_view title{};
  std::vector<std::string_view> says{};  ///< Messages; "…" matches any text.
  std::string_view text{};               ///< Paragraphs of Markdown.
};

/// The sections of a page that have an anchor, as in "### Title {#name}". The lines of a section's
/// first block of text are the messages. Views are of the page. Pure.
std::vector<Topic> read_topics(std::string_view page);
/// How much of a pattern, in bytes, the message holds word for word, if it fits at all; else 0. A
/// pattern begins where the message does or behind a ": ", unless "…" is in front. Pure.
std::size_t fit_of(std::string_view pattern, std::string_view message);
/// The one with the pattern that fits best, the first of equals. One that says how the message
/// begins goes before any that does not. Null: none fits. Pure.
const Topic* topic_of(const std::vector<Topic>& topics, std::string_view message);

/// The sections of the page that the program carries.
const std::vector<Topic>& topics();
/// Null: no topic has the name.
const Topic* find_topic(std::string_view name);
/// The topic of a message's first line by name (what follows is quoted often: a program's last
/// words); empty: it has none.
std::string_view topic_name(std::string_view message);
/// A message for a person: "needs root: run it with sudo (sm explain needs-root)", with the note at
/// the end of its first line. Unchanged if no topic matches, or it already has the note.
std::string with_topic(std::string message);
/// The message without the note of with_topic(), for comparing or forwarding it. Pure.
std::string without_topic(std::string message);
/// say_line() of an error: with_topic().
Result<void> say_error(int fd, std::string_view name, std::string text);

}  // namespace muster
