#include "server/jobs/vpc_of_job.h"

#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/port.h"
#include "base/text.h"
#include "job/training/raw_hyperparameters.h"
#include "job/training/training.h"
#include "server/jobs/sdk_drivers.h"

namespace muster::jobs {
namespace {

constexpr int roll_call_port = 9730;
constexpr int first_free_port = 32768;
constexpr int last_free_port = 60999;

aws::Refusal invalid_vpc(const std::string& message) {
  return api::invalid("VpcConfig: " + message);
}

vpc::VpcConfig ids_of(const api::JobRequest& request) {
  return {.subnets = request.subnets, .groups = request.security_groups};
}

/// True if the job sets the ports of mpirun's ranks.
bool chooses_ports(const job::Spec& spec) {
  const auto options = spec.hyperparameters.find("sagemaker_mpi_custom_mpi_options");
  return options != spec.hyperparameters.end() && options->second.find("port") != std::string::npos;
}

int port_of_roll_call(const job::Spec& spec) {
  const auto named = spec.environment.find("MUSTER_ROLLCALL_PORT");
  const std::optional<std::uint16_t> port =
      named == spec.environment.end() ? std::nullopt : parse_port(named->second);
  return port.value_or(roll_call_port);
}

}  // namespace

std::vector<vpc::Need> needs_between_hosts(const job::Spec& spec) {
  const bool starts_itself = !spec.entrypoint.empty() && drivers_url(spec).empty();
  if (spec.instance_count == 1 || starts_itself) return {};
  const int roll_call = port_of_roll_call(spec);
  std::vector<vpc::Need> needs = {{roll_call, roll_call, "the roll call of the job's hosts"}};
  const std::optional<std::int64_t> torch_port = parse_integer(job::master_port);
  for (const std::string_view name : job::distribution_parameters()) {
    if (!job::is_true(spec.hyperparameters, name)) continue;
    const std::string who = "the launcher of " + std::string(name);
    const int port = static_cast<int>(torch_port.value_or(0));
    if (name == "sagemaker_torch_distributed_enabled") needs.push_back({port, port, who});
    if (!chooses_ports(spec)) needs.push_back({first_free_port, last_free_port, who});
  }
  return needs;
}

Result<std::optional<job::VpcPlace>, aws::Refusal> vpc_of(const api::JobRequest& request,
                                                          const JobConfig& config,
                                                          const vpc::Networks& networks) {
  const vpc::VpcConfig ids = ids_of(request);
  if (ids.empty()) return std::optional<job::VpcPlace>();
  const std::vector<std::string> unknown = vpc::unknown_ids(networks, ids);
  if (!unknown.empty() && config.any_vpc.value_or(networks.empty()))
    return std::optional<job::VpcPlace>();
  if (!unknown.empty())
    return invalid_vpc(
        "this server has no " + join(unknown, ", ") +
        "; add the missing IDs to `networks` in the server's config, or set `jobs.vpc` to \"any\" "
        "to accept all IDs");
  job::VpcPlace place = TRY(vpc::place_of(networks, ids).transform_error([](const Error& error) {
    return invalid_vpc(error.text);
  }));
  const Result<std::vector<job::PlacedAddress>> room =
      addresses_of(place, request.spec.instance_count);
  if (!room) return invalid_vpc(room.error().text);
  const std::string forbidden =
      vpc::what_is_forbidden(networks, ids, needs_between_hosts(request.spec));
  if (!forbidden.empty()) return invalid_vpc(forbidden);
  return std::optional<job::VpcPlace>(std::move(place));
}

std::string no_vpc_note(const api::JobRequest& request, const vpc::Networks& networks) {
  return "VpcConfig has no effect: this server has no " +
         join(vpc::unknown_ids(networks, ids_of(request)), ", ") +
         "; hosts can reach each other, the job's S3 and everything that their machine can reach";
}

}  // namespace muster::jobs
