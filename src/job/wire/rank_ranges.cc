#include "job/wire/rank_ranges.h"

#include <iterator>

namespace muster::job {
namespace {

constexpr int ranges_max = 100;  ///< A job of many hosts chooses its ranks' numbers itself.

}  // namespace

std::string rank_ranges(const std::set<int>& ranks) {
  std::string text;
  int ranges = 0;
  for (auto at = ranks.begin(); at != ranks.end();) {
    if (++ranges > ranges_max)
      return text + " and " + std::to_string(std::distance(at, ranks.end())) + " more";
    const int first = *at;
    int last = first;
    while (++at != ranks.end() && *at == last + 1) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

std::string rank_names(const std::set<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks);
}

}  // namespace muster::job
