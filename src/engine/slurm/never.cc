#include "engine/slurm/never.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace muster::slurm {
namespace {

std::int64_t rounded_up(std::int64_t number, std::int64_t unit) {
  return (number + unit - 1) / unit;
}

/// "gpu:a100:4": the last number.
std::int64_t count_in(std::string_view resource) {
  const std::string_view number = resource.substr(resource.rfind(':') + 1);
  return std::clamp<std::int64_t>(parse_integer(std::string(number)).value_or(0), 0, 1'000'000);
}

/// Empty: no node is in it, or the cluster has none.
std::string default_partition(const std::vector<Node>& nodes) {
  for (const Node& node : nodes)
    if (!node.default_partition.empty()) return node.default_partition;
  return {};
}

}  // namespace

int gpus_in(std::string_view resources) {
  std::string bare;  // Without what is in parentheses, which may have commas.
  int depth = 0;
  for (const char c : resources) {
    if (c == '(') ++depth;
    if (depth == 0) bare += c;
    if (c == ')') --depth;
  }
  std::int64_t count = 0;
  for (const std::string& each : split(bare, ','))
    if (each.starts_with("gpu:")) count += count_in(each);
  return static_cast<int>(std::min<std::int64_t>(count, 1'000'000));
}

std::string why_never(const Submission& submission, const Site& site,
                      const std::vector<Node>& nodes, bool may_be_routed) {
  const bool by_default = site.partition.empty() && !may_be_routed;
  const std::string partition = by_default ? default_partition(nodes) : site.partition;
  int count = 0;
  std::int64_t memory_mib = 0, processors = 0, gpus = 0;
  for (const Node& node : nodes) {
    const std::vector<std::string>& in = node.partitions;
    if (!partition.empty() && std::find(in.begin(), in.end(), partition) == in.end()) continue;
    ++count;
    memory_mib = std::max(memory_mib, node.memory_mib);
    processors = std::max<std::int64_t>(processors, node.cpus);
    gpus = std::max<std::int64_t>(gpus, gpus_in(node.gpus));
  }
  if (count == 0) return {};
  const std::string where = partition.empty() ? "the cluster" : "partition " + partition;
  const auto never = [&](const std::string& wanted, const std::string& there) {
    return "the job can never start: it requests " + wanted + ", but " + where + " has " + there;
  };
  const int wanted = submission.nodes + submission.spares;
  if (wanted > count)
    return never(std::to_string(wanted) + " nodes", "only " + std::to_string(count));
  struct {
    const char* unit;
    std::int64_t wanted, most;
  } const each_node[] = {
      {" MiB of memory", rounded_up(submission.memory_bytes, 1 << 20), memory_mib},
      {submission.cpu_millis > 1000 ? " processors" : " processor",
       rounded_up(submission.cpu_millis, 1000), processors},
      {submission.gpus > 1 ? " GPUs" : " GPU", submission.gpus, gpus},
  };
  for (const auto& each : each_node)
    if (each.wanted > each.most)
      return never(std::to_string(each.wanted) + each.unit + " per node",
                   "no node with more than " + std::to_string(each.most));
  return {};
}

}  // namespace muster::slurm
