#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::cloudwatch {

/// How much a line of a program matters, as far as its text tells; the higher, the more.
enum class Level : std::uint8_t { any, debug, info, warning, error };

/// What the line's text says of itself, without a rank's tag: by the word that a logger puts in
/// front (Python's logging, glog's and TensorFlow's letters), else by words of errors and warnings
/// anywhere in its first bytes. A figure that is called an error ("error: 0.02") is none. Pure.
Level level_of(std::string_view line);

/// "debug", "info", "warning", "error"; "" is any. None: another word.
std::optional<Level> level_named(std::string_view name);

}  // namespace muster::cloudwatch
