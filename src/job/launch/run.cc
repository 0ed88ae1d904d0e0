#include "job/launch/launchers.h"
#include "job/launch/operators.h"
#include "job/launch/site.h"

namespace muster::launch {

Result<HostPlan> plan_run(const RunRequest& request, const Site& site) {
  const int place = TRY(place_of_self(site));
  TRY(check_command(request.command, "a command"));
  HostPlan plan = direct_plan(site, request.command);
  plan.ranks_here = 1;
  plan.ranks_total = static_cast<int>(site.hosts.size());
  plan.programs.push_back({request.command.argv[0], place, request.command, true});
  return plan;
}

Result<Operation> read_run(OperatorLine line) {
  const RunRequest request{std::move(line.command)};
  return Operation{no_ports, [request](const Site& site) { return plan_run(request, site); }};
}

}  // namespace muster::launch
