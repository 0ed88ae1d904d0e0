#include "engine/local/job_network.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/fd.h"
#include "base/text.h"
#include "engine/job_folder.h"
#include "engine/local/register.h"
#include "job/host_spec.h"

namespace muster::local {
namespace {

struct Entry {
  Network network;
  std::string job_folder;
};

/// Lines of jobs that live; what is not understood is dropped.
std::vector<Entry> living_entries(std::string_view text) {
  std::vector<Entry> entries;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    const std::size_t third = line.find(' ', second + 1);
    if (first == std::string::npos || second == std::string::npos || third == std::string::npos)
      continue;
    const Result<Subnet> subnet = block_from(line.substr(0, first));
    const std::optional<std::int64_t> id =
        parse_integer(line.substr(second + 1, third - second - 1));
    Entry entry{{{}, line.substr(first + 1, second - first - 1)}, line.substr(third + 1)};
    if (!subnet || !id || !engine::is_locked(entry.job_folder)) continue;
    entry.network.first_id = *id;
    entry.network.subnet = *subnet;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string register_text(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries)
    text += cidr(entry.network.subnet) + " " + entry.network.bridge + " " +
            std::to_string(entry.network.first_id) + " " + entry.job_folder + "\n";
  return text;
}

std::string new_bridge(const std::vector<Entry>& entries) {
  while (true) {
    std::string name = "mu" + hex(random_bytes(4));
    bool used = ::access(("/sys/class/net/" + name).c_str(), F_OK) == 0;
    for (const Entry& entry : entries) used = used || entry.network.bridge == name;
    if (!used) return name;
  }
}

}  // namespace

Result<std::int64_t> choose_ids(std::int64_t base, const std::vector<std::int64_t>& taken) {
  using job::ids_per_job;
  for (std::int64_t first = base; first <= job::first_id_max; first += ids_per_job) {
    const auto meets = [first](std::int64_t other) {
      return other < first + ids_per_job && first < other + ids_per_job;
    };
    if (std::none_of(taken.begin(), taken.end(), meets)) return first;
  }
  return fail(Errc::system, "no free user IDs for the job: other jobs use all IDs from " +
                                std::to_string(base) + " upwards");
}

Result<std::vector<Subnet>> taken_for(const job::Spec& spec, std::string_view routes) {
  std::vector<Subnet> taken = routes_from(routes);
  if (spec.vpc) taken.push_back(TRY(block_from(spec.vpc->cidr)));
  return taken;
}

Result<Network> allocate_network(const std::string& register_file, const std::string& job_folder,
                                 std::vector<Subnet> taken, std::int64_t id_base) {
  const Fd lock = TRY(lock_register(register_file));
  const Result<std::string> text = read_file(register_file);
  if (!text && text.error().code != Errc::not_found) return text.error();
  std::vector<Entry> entries = living_entries(text.value_or(""));
  std::vector<std::int64_t> taken_ids;
  for (const Entry& entry : entries) {
    taken.push_back(entry.network.subnet);
    taken_ids.push_back(entry.network.first_id);
  }
  const Subnet subnet = TRY(choose_subnet(taken));
  const std::int64_t first_id = TRY(choose_ids(id_base, taken_ids));
  const Network network{subnet, new_bridge(entries), first_id};
  entries.push_back({network, job_folder});
  TRY(write_file(register_file, register_text(entries), 0600));
  return network;
}

}  // namespace muster::local
