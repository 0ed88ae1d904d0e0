#include "host/env/named_hosts.h"

#include <algorithm>
#include <set>

#include "base/address_block.h"
#include "base/fields.h"
#include "base/text.h"
#include "base/variables.h"
#include "host/env/host_list.h"

namespace muster::env {
namespace {

Error invalid_hosts(const std::string& name, const std::string& what) {
  return fail(Errc::invalid_input, name + ": " + what);
}

/// The host whose position in the list a variable gives, counted from 0; empty if the variable is
/// not set.
Result<std::string> host_at(const NamedHosts& named, const Env& env, const std::string& name) {
  const std::string text = value_of(env, name);
  if (text.empty()) return std::string();
  const std::optional<std::int64_t> place = parse_integer(text);
  if (!place || *place < 0 || static_cast<std::size_t>(*place) >= named.hosts.size())
    return expected(name, "an index from 0 to " + std::to_string(named.hosts.size() - 1) +
                              " in the list of hosts " + named.said_by + ", got \"" +
                              to_utf8(text) + "\"");
  return named.hosts[static_cast<std::size_t>(*place)];
}

Result<std::vector<std::string>> hosts_in(const Env& env, const std::string& name) {
  Result<std::vector<std::string>> hosts = expand_host_list(value_of(env, name));
  if (!hosts) return hosts.error().in(name);
  std::set<std::string> seen;
  for (const std::string& host : *hosts) {
    if (!seen.insert(host).second) return invalid_hosts(name, "host " + host + " appears twice");
    if (host.find(':') != std::string::npos)
      return invalid_hosts(
          name,
          "\"" + to_utf8(host) +
              "\": expected a name or an IPv4 address; for an IPv6 address, use a name, e.g. from "
              "/etc/hosts");
  }
  return hosts;
}

/// Slurm's notation for the number of tasks on each node is "2(x3),1".
bool one_task_each(const std::string& tasks) {
  for (const std::string& run : split(tasks, ','))
    if (run.substr(0, run.find('(')) != "1") return false;
  return true;
}

Result<std::optional<NamedHosts>> slurm_step(const Env& env) {
  constexpr const char* list = "SLURM_STEP_NODELIST";
  if (value_of(env, list).empty()) return std::optional<NamedHosts>();
  NamedHosts named;
  named.hosts = TRY(hosts_in(env, list));
  named.said_by = list;
  if (named.hosts.size() < 2) return std::optional<NamedHosts>();
  const std::string tasks = value_of(env, "SLURM_STEP_TASKS_PER_NODE");
  if (!one_task_each(tasks))
    return fail(
        Errc::invalid_input,
        "SLURM_STEP_TASKS_PER_NODE: srun starts " + to_utf8(tasks) +
            " tasks on the nodes; start one task on each node, which then starts the ranks: srun "
            "--ntasks-per-node=1");
  named.own = TRY(host_at(named, env, "SLURM_NODEID"));
  return std::optional<NamedHosts>(std::move(named));
}

std::string first_label(const std::string& name) {
  const bool address = name.find_first_not_of("0123456789.") == std::string::npos;
  return address ? name : name.substr(0, name.find('.'));
}

bool holds(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

std::vector<std::string> hosts_where(const NamedHosts& named,
                                     const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> found;
  std::copy_if(named.hosts.begin(), named.hosts.end(), std::back_inserter(found), wanted);
  return found;
}

}  // namespace

Result<std::optional<NamedHosts>> named_hosts(const Env& env) {
  if (value_of(env, "MUSTER_HOSTS").empty()) {
    if (!value_of(env, "MUSTER_HOST").empty())
      return fail(Errc::invalid_input,
                  "MUSTER_HOST requires MUSTER_HOSTS (--hosts), which is not set");
    return slurm_step(env);
  }
  NamedHosts named;
  named.hosts = TRY(hosts_in(env, "MUSTER_HOSTS"));
  named.own = value_of(env, "MUSTER_HOST");
  named.said_by = "MUSTER_HOSTS";
  if (named.own.empty()) named.own = TRY(host_at(named, env, "JOB_COMPLETION_INDEX"));
  if (!named.own.empty() && !holds(named.hosts, named.own))
    return fail(Errc::invalid_input,
                "MUSTER_HOST: " + to_utf8(named.own) + " is not one of " + join(named.hosts, ", "));
  return std::optional<NamedHosts>(std::move(named));
}

Result<std::string> own_among(const NamedHosts& named, const OwnNames& own,
                              const AddressesOf& addresses_of) {
  const std::vector<std::function<bool(const std::string&)>> ways = {
      [&](const std::string& host) { return holds(own.names, host); },
      [&](const std::string& host) { return holds(own.addresses, host); },
      [&](const std::string& host) {
        return std::any_of(own.names.begin(), own.names.end(), [&](const std::string& name) {
          return first_label(name) == first_label(host);
        });
      },
      [&](const std::string& host) {
        const std::vector<std::string> addresses = addresses_of(host);
        return std::any_of(addresses.begin(), addresses.end(),
                           [&](const std::string& each) { return holds(own.addresses, each); });
      }};
  for (const auto& way : ways) {
    const std::vector<std::string> found = hosts_where(named, way);
    if (found.size() == 1) return found.front();
    if (found.size() > 1)
      return invalid_hosts(named.said_by, "this machine matches " + join(found, " and ") +
                                              "; choose one with --host");
  }
  std::vector<std::string> own_words = own.names;
  own_words.insert(own_words.end(), own.addresses.begin(), own.addresses.end());
  return invalid_hosts(named.said_by, "this machine (" + join(own_words, ", ") +
                                          ") matches none of " + join(named.hosts, ", ") +
                                          "; choose one with --host");
}

Result<void> check_addresses(const NamedHosts& named, const AddressesOf& addresses_of) {
  for (const std::string& host : named.hosts) {
    std::vector<std::string> addresses = addresses_of(host);
    std::erase(addresses, "::1");
    const bool has_v4 = std::any_of(addresses.begin(), addresses.end(), [](const auto& each) {
      return each.find('.') != std::string::npos;
    });
    if (!addresses.empty() && !has_v4)
      return invalid_hosts(named.said_by,
                           to_utf8(host) + " has only IPv6 addresses (" + join(addresses, ", ") +
                               "), but a job's hosts connect to each other over IPv4");
  }
  return {};
}

std::string common_interface(const std::vector<InterfaceAddress>& own,
                             const std::vector<std::vector<std::string>>& others) {
  std::string lowest;
  std::string interface;
  for (const InterfaceAddress& each : own) {
    const std::string subnet = subnet_of(each.address, each.prefix_bits);
    if (subnet.empty() || others.empty()) continue;
    const bool is_common = std::all_of(others.begin(), others.end(), [&](const auto& addresses) {
      return std::any_of(addresses.begin(), addresses.end(), [&](const std::string& other) {
        return subnet_of(other, each.prefix_bits) == subnet;
      });
    });
    if (!is_common || (!lowest.empty() && subnet >= lowest)) continue;
    lowest = subnet;
    interface = each.interface;
  }
  return interface;
}

}  // namespace muster::env
