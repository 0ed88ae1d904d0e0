#include "platform/places/rootless_user.h"

#include <unistd.h>

#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "engine/local/outside_check.h"
#include "os/supervise/own_root.h"

namespace muster::places {

std::vector<std::string> lacks(const Rootless& rootless) {
  std::vector<std::string> all = {
      "no limits on memory, processors and disk (VolumeSizeInGB)",
      "the machine's own files belong to \"nobody\" in hosts and are read-only"};
  if (!rootless.why_one_id.empty())
    all.push_back("hosts have one user: root, with your user ID (" + rootless.why_one_id + ")");
  if (!rootless.why_no_outside.empty())
    all.push_back("jobs have no outside network (" + rootless.why_no_outside + ")");
  return all;
}

Result<std::optional<Rootless>> enter_rootless(Env& env) {
  if (::geteuid() == 0) return std::optional<Rootless>();
  const std::string state = state_folder(env);
  if (user_state_folder(env).empty())
    return fail(Errc::invalid_input,
                "HOME is not set; without root, muster stores jobs below HOME");
  const Result<supervise::OwnRoot> own = supervise::become_own_root(env);
  if (!own && own.error().code == Errc::denied)
    return fail(Errc::denied,
                "jobs without root require user namespaces, which this machine does not allow (" +
                    own.error().text + "); run sm with sudo");
  if (!own) return own.error();
  env["MUSTER_STATE"] = state;
  for (const char* name : {"SUDO_UID", "SUDO_GID", "SUDO_USER"}) env.erase(name);
  return std::optional(Rootless{own->ids, own->why_one_id, local::why_no_outside(env)});
}

}  // namespace muster::places
