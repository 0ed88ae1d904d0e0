#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

/// Text from outside muster, made safe for a terminal. What would move the cursor, control the
/// terminal or change the direction of text is written as an escape instead: control characters and
/// bytes that are no UTF-8 as `\x1b`, C1 controls (U+0080 to U+009F), line and paragraph separators
/// and bidirectional overrides and isolates as `\u009b`. Tabs and newlines stay; a '\r' right
/// before a '\n' is dropped, because it is half of the line's end. Everything else stays as it is.
/// Pure.
std::string visible(std::string_view bytes);
/// Like visible(), but on one line: newlines are written as escapes, too. Pure.
std::string visible_line(std::string_view bytes);
/// JSON text, as serialized, with the characters that visible() writes out as JSON's escapes: its
/// value is the same. Pure.
std::string visible_json(std::string_view json);

/// Writes a program's text, which may quote text from outside, to a descriptor: on a terminal
/// through visible(), otherwise unchanged. Error: as write_all().
Result<void> say(int fd, std::string_view text);
/// Writes one message with a single write: "NAME: TEXT\n". On a terminal, further lines of `text`
/// are indented, so that they do not look like separate messages.
Result<void> say_line(int fd, std::string_view name, std::string_view text);

}  // namespace muster
