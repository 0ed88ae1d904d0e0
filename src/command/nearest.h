#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster::command {

/// The fewest letters to put in, take out, change or swap with a neighbour that make `a` of `b`,
/// none touched twice (optimal string alignment). Pure.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that the user who typed `word` most likely meant: the nearest one, the first of
/// several, if at most a third of the letters differ (one may always). Dashes before a flag do not
/// count, '_' is '-'. Empty if none is similar. Pure.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace muster::command
