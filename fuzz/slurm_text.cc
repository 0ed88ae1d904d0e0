// What Slurm's commands print. The first byte says which.
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/slurm/orders.h"
#include "engine/slurm/queries.h"
#include "engine/slurm/settings.h"
#include "engine/slurm/view.h"
#include "engine/slurm/words.h"
#include "fuzz.h"

namespace muster {

namespace {

void read_settings(std::string_view text) {
  for (const auto& [name, value] : slurm::settings_from(text)) {
    CHECK_THAT(!name.empty(), "a setting has a name");
    const std::optional<std::chrono::seconds> span = slurm::seconds_in(value);
    if (span) CHECK_THAT(span->count() >= 0, "a span of time is none before its start");
  }
}

void read_queue(std::string_view text) {
  const std::vector<slurm::QueuedJob> jobs = slurm::queue_from(text);
  for (const slurm::QueuedJob& job : jobs) {
    CHECK_THAT(!job.id.empty() && !job.state.empty(), "a row has an id and a state");
    if (slurm::standing_of(job.state) == slurm::Standing::over)
      CHECK_THAT(!slurm::end_of(job.state, job.reason).status.empty(), "an end has a status");
    static_cast<void>(slurm::why_it_waits(job.reason));
  }
  CHECK_THAT(slurm::queue_table(jobs, true).ends_with('\n'), "a table is whole lines");
  static_cast<void>(to_text(slurm::queue_json(jobs, true)));
}

void read_nodes(std::string_view text) {
  const std::vector<slurm::Node> nodes = slurm::nodes_from(text);
  for (const slurm::Node& node : nodes)
    CHECK_THAT(!node.name.empty() && !node.partitions.empty(), "a node is of a partition");
  CHECK_THAT(slurm::nodes_table(nodes).ends_with('\n'), "a table is whole lines");
  static_cast<void>(to_text(slurm::nodes_json(nodes)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 's':
      read_settings(text);
      break;
    case 'q':
      read_queue(text);
      break;
    case 'n':
      read_nodes(text);
      break;
    case 'w':
      for (const slurm::NodeWord& word : slurm::node_words_from(text))
        CHECK_THAT(!word.name.empty(), "a node that speaks has a name");
      break;
    case 'p':
      for (const slurm::Partition& each : slurm::partitions_from(text))
        CHECK_THAT(!each.name.empty(), "a partition has a name");
      break;
    default:
      static_cast<void>(slurm::is_preempted(text));
      static_cast<void>(slurm::launch_failure(text, {{.name = "node1", .reason = "Prolog error"}}));
      static_cast<void>(slurm::is_over_to_sbcast(text));
      static_cast<void>(slurm::is_no_answer(text));
      static_cast<void>(slurm::node_named_by_sbcast(text));
      static_cast<void>(slurm::submitted_id(text));
  }
  return 0;
}

}  // namespace muster
