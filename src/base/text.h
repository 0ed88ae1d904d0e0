#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Splits at every `separator`; "a,,b" gives three parts, "" gives one empty part.
std::vector<std::string> split(std::string_view text, char separator);
/// Splits at runs of spaces, tabs and newlines; no empty parts.
std::vector<std::string> split_words(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string trim(std::string_view text);
/// Changes ASCII letters only.
std::string lower_case(std::string_view text);
/// Ignores the case of ASCII letters.
bool same_letters(std::string_view a, std::string_view b);

/// True if `pattern` matches all of `text`: '*' matches any characters, and `any_one`, if set,
/// matches any single character.
bool matches(std::string_view pattern, std::string_view text,
             std::optional<char> any_one = std::nullopt);

/// Accepts one decimal integer, with '-' as the only sign and without spaces; none for anything
/// else.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// Lower-case hex of any bytes, and back (none if not hex).
std::string hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view text);

/// The words as a person could paste them into a POSIX shell. For display only: nothing we run
/// passes through a shell.
std::string shell_quoted(const std::vector<std::string>& words);

/// Length of the well-formed UTF-8 sequence at the start of `bytes` (not empty); 0 if it is
/// malformed.
std::size_t utf8_length(std::string_view bytes);
/// True if `bytes` are well-formed UTF-8 (no surrogates, no overlong forms).
bool is_utf8(std::string_view bytes);
/// `bytes` with each byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string to_utf8(std::string_view bytes);

/// Appends the code point as UTF-8; a surrogate's three bytes too, which are not well-formed.
void append_utf8(std::string& out, std::uint32_t code);

}  // namespace muster
