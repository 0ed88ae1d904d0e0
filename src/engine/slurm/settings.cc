#include "engine/slurm/settings.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::size_t settings_max = 2000;
/// One line of a node: a name, a clock, free room, and whether three things are there. The fields
/// that may hold anything come last.
constexpr const char* probe_script =
    "echo \"muster|$(hostname)|$(date +%s.%N)|$(df -Pk /tmp | awk 'NR == 2 { print $4 }')|"
    "$(unshare -Urm true 2>/dev/null && echo yes || echo no)|"
    "$(stat -fc %T /sys/fs/cgroup 2>/dev/null)|$(command -v runc)|$(command -v python3)\"";

}  // namespace

Args plan_settings() {
  return {"scontrol", "show", "config"};
}

Settings settings_from(std::string_view text) {
  Settings settings;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || settings.size() >= settings_max) continue;
    const std::string name = trim(line.substr(0, equals));
    if (name.empty() || name.find(' ') != std::string::npos) continue;
    settings.emplace(name, trim(line.substr(equals + 1)));
  }
  return settings;
}

bool may_route(const Settings& settings) {
  for (const char* name : {"JobSubmitPlugins", "CliFilterPlugins"}) {
    const auto plugins = settings.find(name);
    if (plugins != settings.end() && !plugins->second.empty() && plugins->second != "(null)")
      return true;
  }
  return false;
}

std::optional<std::chrono::seconds> seconds_in(std::string_view value) {
  const std::vector<std::string> words = split_words(std::string(value));
  if (words.empty() || words.size() > 2) return std::nullopt;
  const std::optional<std::int64_t> number = parse_integer(words[0]);
  const std::string unit = words.size() == 2 ? words[1] : "sec";
  if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
  if (unit == "sec") return std::chrono::seconds(*number);
  if (unit == "min") return std::chrono::minutes(*number);
  return std::nullopt;
}

Args plan_show_partition(const std::string& name) {
  return {"scontrol", "-o", "show", "partition", name};
}

std::optional<std::chrono::seconds> grace_time(std::string_view shown) {
  constexpr std::string_view field = " GraceTime=";
  const std::size_t at = shown.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  shown.remove_prefix(at + field.size());
  return seconds_in(shown.substr(0, shown.find_first_of(" \n")));
}

Args plan_partitions() {
  return {"sinfo", "-h", "-o", "%R|%a|%l"};
}

std::vector<Partition> partitions_from(std::string_view text) {
  std::vector<Partition> all;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 3 || trim(fields[0]).empty()) continue;
    Partition one{trim(fields[0]), trim(fields[1]), trim(fields[2])};
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
  }
  return all;
}

Result<Args> plan_trial(const Site& site) {
  TRY(check(site));
  Args argv = {"sbatch", "--test-only", "--nodes=1", "--time=5"};
  for (std::string& word : words_of(site)) argv.push_back(std::move(word));
  argv.push_back("--wrap=true");
  return argv;
}

Result<Args> plan_probe(const Site& site, int nodes) {
  TRY(check(site));
  const std::string count = std::to_string(nodes);
  Args argv = {"srun",     "--quiet",        "--nodes=" + count, "--ntasks=" + count,
               "--time=2", "--immediate=30", "--chdir=/"};
  for (std::string& word : words_of(site)) argv.push_back(std::move(word));
  argv.insert(argv.end(), {"sh", "-c", probe_script});
  return argv;
}

std::vector<NodeWord> node_words_from(std::string_view text) {
  std::vector<NodeWord> all;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 8 || fields[0] != "muster") continue;
    char* end = nullptr;
    const double clock = std::strtod(fields[2].c_str(), &end);
    const std::optional<std::int64_t> free = parse_integer(fields[3]);
    if (fields[1].empty() || end == fields[2].c_str() || *end != '\0' || !free) continue;
    all.push_back({.name = fields[1],
                   .clock = clock,
                   .free_kib = *free,
                   .user_namespaces = fields[4] == "yes",
                   .cgroups = fields[5],
                   .runc = fields[6],
                   .python = fields[7]});
  }
  return all;
}

}  // namespace muster::slurm
