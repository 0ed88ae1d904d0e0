#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Text of others as a terminal may get it. What would move its cursor, give it orders or turn the
/// direction of its text is written out instead: control characters and bytes that are no UTF-8 as
/// `\x1b`, C1 controls (U+0080 to U+009F), line and paragraph separators and bidirectional
/// overrides and isolates as `\u009b`. Tabs and newlines stay; a '\r' right before a '\n' goes, as
/// it is half of the line's end. What is visible already stays as it is. Pure.
std::string visible(std::string_view bytes);
/// visible(), on one line: a newline is written out, too. Pure.
std::string visible_line(std::string_view bytes);
/// JSON text, as serialized, with the characters that visible() writes out as JSON's escapes: its
/// value is the same. Pure.
std::string visible_json(std::string_view json);

/// Writes what a program has to say, which may quote others, to a descriptor: on a terminal as
/// visible() shows it, else as it is. Error: as write_all().
Result<void> say(int fd, std::string_view text);
/// Writes one message with a single write: "NAME: TEXT\n". On a terminal, further lines of `text`
/// are indented, so that they do not look like separate messages.
Result<void> say_line(int fd, std::string_view name, std::string_view text);

}  // namespace muster
