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
/// first block of text are the messages. The views in the result point into `page`. Pure.
std::vector<Topic> read_topics(std::string_view page);
/// The number of the pattern's bytes that the message contains word for word; 0 if the pattern does
/// not match. A pattern matches from the start of the message or after a ": ", unless it starts
/// with "…". Pure.
std::size_t fit_of(std::string_view pattern, std::string_view message);
/// The topic whose pattern matches best; the first one of equals. A pattern that matches from the
/// start of the message is preferred to any other. Null: none matches. Pure.
const Topic* topic_of(const std::vector<Topic>& topics, std::string_view message);

/// The sections of the page that the program carries.
const std::vector<Topic>& topics();
/// The topic with this name; null if there is none.
const Topic* find_topic(std::string_view name);
/// The name of the topic for a message's first line (the lines after it are often quotes of a
/// program's last output); empty if there is none.
std::string_view topic_name(std::string_view message);
/// A message for a person: "needs root: run it with sudo (sm explain needs-root)", with the note at
/// the end of its first line. Unchanged if no topic matches, or it already has the note.
std::string with_topic(std::string message);
/// The message without the note of with_topic(), for comparing or forwarding it. Pure.
std::string without_topic(std::string message);
/// say_line() of an error: with_topic().
Result<void> say_error(int fd, std::string_view name, std::string text);

}  // namespace muster
