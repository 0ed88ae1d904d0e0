// `sm doctor --engine slurm`

#include <algorithm>
#include <chrono>

#include "cli/cli.h"
#include "cli/doctor/doctor_slurm.h"
#include "cli/exit_code_of.h"
#include "cli/view/here.h"
#include "net/addresses/look_up.h"
#include "platform/places/ask_slurm.h"

namespace muster::cli {
namespace {

/// As many nodes as a probe asks at most.
constexpr int probed_max = 64;

double now() {
  return static_cast<double>(wall_time().count()) / 1e3;
}

int free_nodes(const std::vector<slurm::Node>& nodes) {
  const auto is_free = [](const slurm::Node& node) { return node.state == "idle"; };
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), is_free));
}

loop::Task<> ask_nodes(Here& here, Env env, slurm::Site site, SlurmFacts& facts) {
  const int free = std::min(free_nodes(facts.nodes), probed_max);
  if (free == 0) facts.no_words = "no node is free";
  if (free == 0) co_return;
  Result<Args> plan = slurm::plan_probe(site, free);
  if (!plan) facts.no_words = plan.error().text;
  if (!plan) co_return;
  facts.asked = now();
  const Result<std::string> said =
      co_await places::ask_slurm(here.loop, std::move(env), *std::move(plan));
  facts.answered = now();
  if (said)
    facts.words = slurm::node_words_from(*said);
  else
    facts.no_words = said.error().text;
}

loop::Task<> gather(Here& here, Env env, places::SlurmCluster cluster, bool probe,
                    SlurmFacts& facts) {
  Args plan = slurm::plan_settings();
  const Result<std::string> settings = co_await places::ask_slurm(here.loop, env, std::move(plan));
  if (!settings) facts.no_settings = settings.error().text;
  if (!settings) co_return;
  facts.settings = slurm::settings_from(*settings);
  Result<Args> trial = slurm::plan_trial(cluster.site);
  if (!trial) facts.no_trial = trial.error().text;
  if (trial) {
    const Result<std::string> taken = co_await places::ask_slurm(here.loop, env, *std::move(trial));
    if (!taken) facts.no_trial = taken.error().text;
  }
  Args nodes = slurm::plan_sinfo();
  const Result<std::string> told = co_await places::ask_slurm(here.loop, env, std::move(nodes));
  if (told)
    facts.nodes = slurm::nodes_from(*told);
  else
    facts.no_nodes = told.error().text;
  Args partitions = slurm::plan_partitions();
  const Result<std::string> parts =
      co_await places::ask_slurm(here.loop, env, std::move(partitions));
  if (parts) facts.partitions = slurm::partitions_from(*parts);
  if (!cluster.addresses.empty())
    facts.address = cluster.addresses.front();
  else if (!facts.nodes.empty())
    facts.address = address_towards(facts.nodes.front().name).value_or("");
  if (probe) co_await ask_nodes(here, env, cluster.site, facts);
}

loop::Task<Result<int>> look(Here& here, Env env, places::SlurmCluster cluster,
                             DoctorWishes wishes) {
  SlurmFacts facts;
  co_await gather(here, std::move(env), std::move(cluster), wishes.probe, facts);
  const std::vector<Finding> found = findings(facts);
  here.out.text() +=
      wishes.json ? findings_json(found) : findings_text(found, here.colour, "This cluster");
  co_return is_well(found) ? exit_success : exit_platform;
}

}  // namespace

int doctor_slurm(const Env& env, const places::SlurmCluster& cluster, DoctorWishes wishes) {
  return run_here("sm doctor", env, [&](Here& here) { return look(here, env, cluster, wishes); });
}

}  // namespace muster::cli
