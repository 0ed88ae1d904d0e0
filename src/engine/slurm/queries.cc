#include "engine/slurm/queries.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"

namespace muster::slurm {
namespace {

/// `count` fields, the last with all that is left; none for a row that has fewer.
std::optional<std::vector<std::string>> fields(std::string_view row, std::size_t count) {
  std::vector<std::string> all;
  while (all.size() + 1 < count) {
    const std::size_t bar = row.find('|');
    if (bar == std::string_view::npos) return std::nullopt;
    all.push_back(trim(row.substr(0, bar)));
    row.remove_prefix(bar + 1);
  }
  all.push_back(trim(row));
  return all;
}

std::string unless_nothing(const std::string& text) {
  return text == "N/A" || text == "(null)" || text == "none" || text == "Unknown" || text == "NONE"
             ? ""
             : text;
}

std::optional<QueuedJob> job_from(std::string_view row) {
  const std::optional<std::vector<std::string>> got = fields(row, 11);
  if (!got) return std::nullopt;
  const std::vector<std::string>& field = *got;
  const std::optional<std::int64_t> nodes = parse_integer(field[3]);
  const bool numbered = !field[0].empty() && field[0][0] >= '0' && field[0][0] <= '9';
  if (!numbered || !nodes || field[1].empty()) return std::nullopt;
  return QueuedJob{.id = field[0],
                   .state = field[1],
                   .reason = unless_nothing(field[2]),
                   .nodes = static_cast<int>(*nodes),
                   .node_list = unless_nothing(field[4]),
                   .used = field[5],
                   .start = unless_nothing(field[6]),
                   .end = unless_nothing(field[7]),
                   .user = field[8],
                   .partition = field[9],
                   .name = field[10]};
}

std::optional<Node> node_from(std::string_view row) {
  const std::optional<std::vector<std::string>> got = fields(row, 7);
  if (!got) return std::nullopt;
  const std::vector<std::string>& field = *got;
  const std::optional<std::int64_t> cpus = parse_integer(field[2]);
  const std::optional<std::int64_t> memory = parse_integer(field[3]);
  if (field[0].empty() || !cpus || !memory) return std::nullopt;
  const bool is_default = field[5].ends_with('*');
  const std::string partition = field[5].substr(0, field[5].size() - (is_default ? 1 : 0));
  return Node{.name = field[0],
              .state = field[1],
              .cpus = static_cast<int>(*cpus),
              .memory_mib = *memory,
              .gpus = unless_nothing(field[4]),
              .reason = unless_nothing(field[6]),
              .partitions = {partition},
              .default_partition = is_default ? partition : ""};
}

}  // namespace

Args plan_squeue(const std::string& user) {
  Args argv = {"squeue", "-h", "-t", "all", "-o", "%i|%T|%r|%D|%N|%M|%S|%e|%u|%P|%j"};
  if (!user.empty()) argv.insert(argv.end(), {"-u", user});
  return argv;
}

std::vector<QueuedJob> queue_from(std::string_view text) {
  std::vector<QueuedJob> jobs;
  for (const std::string& row : split(text, '\n'))
    if (std::optional<QueuedJob> job = job_from(row)) jobs.push_back(*std::move(job));
  return jobs;
}

std::optional<QueuedJob> find_named(const std::vector<QueuedJob>& jobs, std::string_view name) {
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [&](const QueuedJob& job) { return job.name == name; });
  return found == jobs.end() ? std::nullopt : std::optional<QueuedJob>(*found);
}

Args plan_sinfo(const std::string& nodes) {
  Args argv = {"sinfo", "-h", "-N", "-o", "%N|%T|%c|%m|%G|%P|%E"};
  if (!nodes.empty()) argv.insert(argv.end(), {"-n", nodes});
  return argv;
}

std::vector<Node> nodes_from(std::string_view text) {
  std::vector<Node> nodes;
  std::map<std::string, std::size_t> places;
  for (const std::string& row : split(text, '\n')) {
    std::optional<Node> node = node_from(row);
    if (!node) continue;
    const auto [place, is_new] = places.try_emplace(node->name, nodes.size());
    if (is_new) {
      nodes.push_back(*std::move(node));
      continue;
    }
    Node& known = nodes[place->second];
    known.partitions.push_back(node->partitions.front());
    if (known.default_partition.empty()) known.default_partition = node->default_partition;
  }
  // Slurm has them in another order each time.
  for (Node& node : nodes) std::sort(node.partitions.begin(), node.partitions.end());
  return nodes;
}

}  // namespace muster::slurm
