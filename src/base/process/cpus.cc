#include "base/process/cpus.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace muster {
namespace {

constexpr std::int64_t cpus_max = 8192;  ///< Source: the kernel's NR_CPUS on x86-64.

}  // namespace

std::optional<Cpus> cpus_from(std::string_view list) {
  Cpus cpus;
  if (list.empty()) return cpus;
  for (const std::string& part : split(list, ',')) {
    const std::size_t dash = part.find('-');
    const std::optional<std::int64_t> first = parse_integer(part.substr(0, dash));
    const std::optional<std::int64_t> last =
        dash == std::string::npos ? first : parse_integer(part.substr(dash + 1));
    const std::int64_t least = cpus.empty() ? 0 : cpus.back() + 1;
    if (!first || !last || *first < least || *last < *first || *last >= cpus_max)
      return std::nullopt;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

std::string cpu_list(const Cpus& cpus) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    ranges.push_back(std::to_string(cpus[i]) + (last > i ? "-" + std::to_string(cpus[last]) : ""));
    i = last + 1;
  }
  return join(ranges, ",");
}

Cpus common_cpus(const Cpus& a, const Cpus& b) {
  Cpus common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

}  // namespace muster
