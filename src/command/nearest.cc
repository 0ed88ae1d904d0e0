#include "command/nearest.h"

#include <algorithm>
#include <string>

namespace muster::command {
namespace {

/// Longer than any flag: longer words are not typos.
constexpr std::size_t word_bytes_max = 64;

std::string letters_of(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string letters(word);
  std::replace(letters.begin(), letters.end(), '_', '-');
  return letters;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  using Row = std::vector<std::size_t>;
  Row above;
  Row row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const Row two_above = std::move(above);
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known) {
  const std::string typed = letters_of(word);
  if (typed.size() < 2 || typed.size() > word_bytes_max) return {};
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string_view each : known) {
    const std::size_t distance = edit_distance(typed, letters_of(each));
    if (distance >= least) continue;
    least = distance;
    best = each;
  }
  return best;
}

}  // namespace muster::command
