#include "job/launch/site.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "job/limits.h"

namespace muster::launch {

Result<int> place_of_self(const Site& site) {
  std::set<std::string> seen;
  int place = -1;
  for (const Site::Host& host : site.hosts) {
    if (host.name == site.self) place = static_cast<int>(seen.size());
    if (!seen.insert(host.name).second)
      return fail(Errc::invalid_input,
                  "host \"" + to_utf8(host.name) + "\" appears twice among the job's hosts");
  }
  if (place < 0)
    return fail(Errc::invalid_input,
                "this host, \"" + to_utf8(site.self) + "\", is not among the job's hosts");
  return place;
}

std::string name_for_programs(const Site& site, std::size_t host) {
  return site.hosts.size() == 1 ? "127.0.0.1" : site.hosts[host].name;
}

Result<std::string> port_of(const Site& site, std::size_t host, std::size_t n,
                            const std::string& who) {
  const Site::Host& at = site.hosts[host];
  if (n < at.ports.size()) return std::to_string(at.ports[n]);
  return fail(Errc::invalid_input, "host \"" + to_utf8(at.name) + "\" offered " +
                                       std::to_string(at.ports.size()) + " free ports, but " + who +
                                       " requires " + std::to_string(n + 1));
}

Result<void> check_count(const std::string& flag, int number, std::size_t hosts) {
  const std::size_t most = hosts * static_cast<std::size_t>(job::processes_per_host_max);
  if (number >= 1 && static_cast<std::size_t>(number) <= most) return {};
  return fail(Errc::invalid_input, flag + " is " + std::to_string(number) +
                                       "; expected a number from 1 to " + std::to_string(most));
}

Result<int> even_processes(const Site& site, const std::string& flag) {
  const auto has = [](const Site::Host& host) {
    const std::string count = host.gpus == 0 ? "no" : std::to_string(host.gpus);
    return to_utf8(host.name) + " has " + count + (host.gpus == 1 ? " GPU" : " GPUs");
  };
  const Site::Host& first = site.hosts.front();
  for (const Site::Host& host : site.hosts)
    if (host.gpus != first.gpus)
      return fail(Errc::invalid_input, has(first) + ", " + has(host) + "; set " + flag);
  return std::max(first.gpus, 1);
}

Result<std::vector<int>> process_counts(const Site& site, std::optional<int> asked,
                                        const std::string& flag) {
  std::vector<int> counts;
  if (asked) {
    TRY(check_count(flag, *asked, 1));
    counts.assign(site.hosts.size(), *asked);
    return counts;
  }
  const auto has_gpus = [](const Site::Host& host) { return host.gpus > 0; };
  const auto with = std::find_if(site.hosts.begin(), site.hosts.end(), has_gpus);
  const auto without = std::find_if_not(site.hosts.begin(), site.hosts.end(), has_gpus);
  if (with != site.hosts.end() && without != site.hosts.end())
    return fail(Errc::invalid_input, to_utf8(without->name) + " has no GPU, but " +
                                         to_utf8(with->name) + " has at least one; set " + flag);
  for (const Site::Host& host : site.hosts) counts.push_back(std::max(host.gpus, 1));
  return counts;
}

Result<void> check_command(const Command& command, const std::string& what) {
  if (!command.argv.empty() && !command.argv[0].empty()) return {};
  return fail(Errc::invalid_input, "expected " + what + " to run");
}

HostPlan direct_plan(const Site& site, const Command& command) {
  HostPlan plan;
  plan.launcher = Launcher::direct;
  plan.rank = command;
  plan.roll_call = site.hosts.size() > 1;
  plan.ranks_here = 0;
  plan.ranks_total = 0;
  for (const Site::Host& host : site.hosts) plan.hosts.push_back(host.name);
  return plan;
}

Args started(const std::string& python, const Args& words) {
  if (!words[0].ends_with(".py")) return words;
  Args argv = {python};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

std::string share_of_gpus(int gpus, int n, int sharers) {
  if (gpus < sharers) return std::to_string(n % gpus);
  Args devices;
  for (int device = n * gpus / sharers; device < (n + 1) * gpus / sharers; ++device)
    devices.push_back(std::to_string(device));
  return join(devices, ",");
}

void set_gpus(Env& env, int gpus, int n, int sharers) {
  if (gpus > 0 && sharers > 1)
    env.try_emplace("CUDA_VISIBLE_DEVICES", share_of_gpus(gpus, n, sharers));
}

}  // namespace muster::launch
