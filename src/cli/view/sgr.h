#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace muster::cli {

/// The colours and other styles that SGR sequences ("\x1b[1;31m", ECMA-48) have set, each as the
/// parameter that sets it, such as "31" or "38;5;208"; empty: not set.
using TextStyle = std::array<std::string, 8>;

/// A program's text for a terminal or a pipe: its SGR sequences are parsed and rewritten, or
/// removed unless `colour`; all else is as visible() shows it. The parameters 0 to 5, 7, 21 to 29,
/// 30 to 49, 90 to 107, 38;5;N and 38;2;R;G;B have an effect, others, such as 8 (hidden text), have
/// none. Each line ends without a style, and so does the text.
///
/// `style`: that of the text before `bytes` on the same line; updated. Pure.
std::string painted(std::string_view bytes, bool colour, TextStyle& style);
/// The first `characters` of a text from painted(). Pure.
std::string first_of(std::string painted, std::size_t characters);

}  // namespace muster::cli
