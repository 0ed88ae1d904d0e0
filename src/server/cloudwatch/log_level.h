#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::cloudwatch {

/// The severity of a program's line, as far as its text shows it; higher is more severe.
enum class Level : std::uint8_t { any, debug, info, warning, error };

/// The level of a line's text, without a rank's tag. It is derived from the logger's prefix
/// (Python's logging, the letters of glog and TensorFlow), else from words of errors and warnings
/// anywhere in its first bytes. A number named error ("error: 0.02") does not count. Colours
/// (ECMA-48's SGR sequences) are ignored. Pure.
Level level_of(std::string_view line);

/// Whether the line may contain SGR sequences.
bool has_colours(std::string_view line);

/// The line without its SGR sequences, as the page shows it. Pure.
std::string uncoloured(std::string_view line);

/// "debug", "info", "warning", "error"; "" is any.
std::string_view level_name(Level level);

/// Parses "debug", "info", "warning" and "error"; "" is any. None for other words.
std::optional<Level> level_named(std::string_view name);

}  // namespace muster::cloudwatch
