#include "engine/slurm/view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "engine/slurm/submission.h"
#include "engine/slurm/words.h"

namespace muster::slurm {
namespace {

std::string state_words(const QueuedJob& job) {
  switch (standing_of(job.state)) {
    case Standing::waiting:
      return "Pending";
    case Standing::starting:
      return "Starting";
    case Standing::running:
      return "Running";
    case Standing::suspended:
      return "Suspended";
    case Standing::ending:
      return "Ending";
    case Standing::over:
      return end_of(job.state, job.reason).secondary;
    case Standing::unknown:
      break;
  }
  return job.state;
}

/// Why it waits, where it runs, how it ended.
std::string detail_of(const QueuedJob& job, const TimeWords& time) {
  const Standing standing = standing_of(job.state);
  if (standing == Standing::over) return end_of(job.state, job.reason).reason;
  if (standing != Standing::waiting)
    return job.node_list + (job.end.empty() ? "" : ", until " + time(job.end));
  const std::string start = job.start.empty() ? "" : "may start at " + time(job.start);
  const std::string why = why_it_waits(job.reason);
  return why + (why.empty() || start.empty() ? "" : ", ") + start;
}

/// A job of ours is called what its user called it.
std::string name_of(const QueuedJob& job) {
  const std::optional<OwnName> own = own_name(job.name);
  return own ? own->job : job.name;
}

bool is_over(const QueuedJob& job) {
  return standing_of(job.state) == Standing::over;
}

/// "train: squeue -j 17, scancel 17; earlier attempts: 15": a line for each of muster's jobs that
/// is not over.
std::string own_lines(const std::vector<QueuedJob>& jobs) {
  std::string text;
  for (const QueuedJob& job : jobs) {
    const std::optional<OwnName> own = own_name(job.name);
    if (!own || is_over(job)) continue;
    std::vector<std::string> earlier;
    for (const QueuedJob& other : jobs) {
      if (!is_over(other) || other.user != job.user) continue;
      const std::optional<OwnName> name = own_name(other.name);
      if (name && name->job == own->job) earlier.push_back(visible_line(other.id));
    }
    const std::string id = visible_line(job.id);
    text += visible_line(own->job) + ": squeue -j " + id + ", scancel " + id +
            (earlier.empty() ? "" : "; earlier attempts: " + join(earlier, ", ")) + "\n";
  }
  return text;
}

std::string detail_of(const Node& node) {
  const std::string words = node_words(node.state);
  return node.reason.empty() ? words : words + " (" + node.reason + ")";
}

std::string memory_text(std::int64_t mib) {
  return mib < 10240 ? std::to_string(mib) + " MiB" : std::to_string(mib / 1024) + " GiB";
}

}  // namespace

std::string slurm_minute(const std::string& time) {
  if (time.size() != 19 || time[10] != 'T') return time;
  return time.substr(0, 10) + " " + time.substr(11, 5);
}

std::string queue_table(const std::vector<QueuedJob>& jobs, bool over, const TimeWords& time) {
  std::vector<TableRow> rows = {{"ID", "NAME", "USER", "PARTITION", "STATE", "NODES", "DETAIL"}};
  for (const QueuedJob& job : jobs)
    if (over || !is_over(job))
      rows.push_back({visible_line(job.id), visible_line(name_of(job)), visible_line(job.user),
                      visible_line(job.partition), visible_line(state_words(job)),
                      std::to_string(job.nodes), visible_line(detail_of(job, time))});
  return rows.size() == 1 ? "no jobs\n" : table_text(rows) + own_lines(jobs);
}

Json queue_json(const std::vector<QueuedJob>& jobs, bool over) {
  Json all = Json::array();
  for (const QueuedJob& job : jobs)
    if (over || !is_over(job))
      all.push_back(Json{{"SlurmId", to_utf8(job.id)},
                         {"Name", to_utf8(name_of(job))},
                         {"User", to_utf8(job.user)},
                         {"Partition", to_utf8(job.partition)},
                         {"State", to_utf8(job.state)},
                         {"Text", to_utf8(detail_of(job, slurm_minute))},
                         {"Nodes", job.nodes},
                         {"NodeList", to_utf8(job.node_list)},
                         {"Start", to_utf8(job.start)}});
  return Json{{"Jobs", std::move(all)}};
}

std::string nodes_table(const std::vector<Node>& nodes, const Remarks& health) {
  if (nodes.empty()) return "no nodes\n";
  const bool has_health = std::any_of(nodes.begin(), nodes.end(), [&health](const Node& node) {
    return health.contains(node.name);
  });
  std::vector<TableRow> rows = {{"NODE", "PARTITIONS", "CPUS", "MEMORY", "GPUS", "STATE"}};
  if (has_health) rows.front().push_back("PREFLIGHT");
  for (const Node& node : nodes) {
    rows.push_back({visible_line(node.name), visible_line(join(node.partitions, ",")),
                    std::to_string(node.cpus), memory_text(node.memory_mib),
                    node.gpus.empty() ? "-" : visible_line(node.gpus),
                    visible_line(detail_of(node))});
    const auto known = health.find(node.name);
    if (has_health)
      rows.back().push_back(known == health.end() ? "-" : visible_line(known->second));
  }
  return table_text(rows);
}

Json nodes_json(const std::vector<Node>& nodes, const Remarks& health) {
  Json all = Json::array();
  for (const Node& node : nodes) {
    Json partitions = Json::array();
    for (const std::string& partition : node.partitions) partitions.push_back(to_utf8(partition));
    all.push_back(Json{{"Name", to_utf8(node.name)},
                       {"State", to_utf8(node.state)},
                       {"Text", to_utf8(detail_of(node))},
                       {"Cpus", node.cpus},
                       {"MemoryMiB", node.memory_mib},
                       {"Gpus", to_utf8(node.gpus)},
                       {"Partitions", std::move(partitions)}});
    const auto known = health.find(node.name);
    if (known != health.end()) all.back()["Preflight"] = to_utf8(known->second);
  }
  return Json{{"Nodes", std::move(all)}};
}

Json nodes_page(std::vector<Node> nodes, std::size_t most, const Remarks& health) {
  std::map<std::string, int> counts;
  for (const Node& node : nodes) ++counts[to_utf8(node_words(node.state))];
  std::vector<std::pair<std::string, int>> states(counts.begin(), counts.end());
  std::ranges::stable_sort(states, std::greater(), &std::pair<std::string, int>::second);
  Json list = Json::array();
  for (const auto& [text, count] : states) list.push_back({{"Text", text}, {"Count", count}});
  const std::size_t all = nodes.size();
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const Node& node) { return !node.reason.empty(); });
  nodes.resize(std::min(all, most));
  Json page = nodes_json(nodes, health);
  page["Count"] = all;
  page["States"] = std::move(list);
  return page;
}

}  // namespace muster::slurm
