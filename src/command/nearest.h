#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace muster::command {

/// The least number of letters to insert, delete, change or swap with a neighbour to turn `b` into
/// `a`, without editing a letter twice (optimal string alignment). Pure.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The known word that the user who typed `word` most likely meant: the nearest one (of several,
/// the first), if at most a third of the letters differ, or just one. Leading dashes of a flag are
/// ignored, and '_' equals '-'. Empty if none is similar. Pure.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace muster::command
