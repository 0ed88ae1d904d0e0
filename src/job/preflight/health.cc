#include "job/preflight/health.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/dates.h"
#include "base/fd.h"
#include "base/files/folder.h"
#include "base/letters.h"
#include "base/text.h"

namespace muster::preflight {
namespace {

constexpr std::size_t record_bytes_max = 1u << 20;
constexpr std::size_t findings_max = 100;  ///< More of one host say nothing new.
constexpr std::size_t shown_max = 4;       ///< Findings about GPUs.
constexpr std::size_t name_bytes_max = 200;
constexpr std::string_view suffix = ".json";

/// A host's name that is a file's name in its folder, too.
bool is_plain(const std::string& host) {
  return std::all_of(host.begin(), host.end(), is_name_byte) && !host.empty() &&
         host.size() <= name_bytes_max && host.front() != '.';
}

}  // namespace

std::string health_text(const HostFacts& facts, const std::vector<Finding>& findings,
                        UnixMillis at) {
  Json own = Json::array();
  for (const Finding& each : findings)
    if (std::count(each.hosts.begin(), each.hosts.end(), facts.host) > 0 &&
        own.size() < findings_max)
      own.push_back(to_json(each));
  return to_text({{"time", iso_date(at)}, {"facts", to_json(facts)}, {"findings", own}}) + "\n";
}

Result<Health> health_from(std::string_view text) {
  const Json json = TRY(parse_json(text));
  const auto invalid = [] { return fail(Errc::invalid_input, "not a preflight record"); };
  if (!json.is_object() || !json.contains("time") || !json["time"].is_string()) return invalid();
  const std::optional<UnixMillis> at = parse_iso_date(json["time"].get<std::string>());
  if (!at || !json.contains("findings") || !json["findings"].is_array()) return invalid();
  Health health;
  health.at = *at;
  for (const Json& each : json["findings"]) {
    if (!each.is_object() || !each.contains("text") || !each["text"].is_string()) return invalid();
    if (health.findings.size() >= findings_max) continue;
    const bool is_gpu = each.value("kind", Json()) == gpu_health_kind;
    const std::size_t place = is_gpu ? health.gpu_findings++ : health.findings.size();
    health.findings.insert(health.findings.begin() + static_cast<std::ptrdiff_t>(place),
                           each["text"].get<std::string>());
  }
  return health;
}

std::string health_folder(const std::string& state_folder) {
  return state_folder + "/health";
}

Result<void> keep_health(const std::string& folder, const std::vector<HostFacts>& hosts,
                         const std::vector<Finding>& findings, UnixMillis at) {
  TRY(make_folders(folder, 0700));
  const std::vector<std::string> kept = TRY(names_in(folder));
  std::size_t count = kept.size();
  for (const HostFacts& host : hosts) {
    const std::string name = host.host + std::string(suffix);
    const bool is_known = std::binary_search(kept.begin(), kept.end(), name);
    if (!is_plain(host.host) || (!is_known && ++count > kept_hosts_max)) continue;
    TRY(write_file(folder + "/" + name, health_text(host, findings, at), 0600));
  }
  return {};
}

Result<void> keep_record(const std::string& folder, const std::string& name,
                         const std::string& record) {
  TRY(health_from(record));
  if (!is_plain(name)) return fail(Errc::invalid_input, "invalid node name: " + to_utf8(name));
  TRY(make_folders(folder, 0700));
  const std::vector<std::string> kept = TRY(names_in(folder));
  const std::string file = name + std::string(suffix);
  if (kept.size() >= kept_hosts_max && !std::binary_search(kept.begin(), kept.end(), file))
    return fail(Errc::denied,
                folder + ": already contains " + std::to_string(kept_hosts_max) + " records");
  return write_file(folder + "/" + file, record, 0600);
}

std::map<std::string, Health> kept_health(const std::string& folder) {
  std::map<std::string, Health> all;
  for (const std::string& name : names_in(folder).value_or({})) {
    if (!name.ends_with(suffix) || all.size() >= kept_hosts_max) continue;
    const Result<std::string> text = read_file(folder + "/" + name, record_bytes_max);
    const Result<Health> health = health_from(text ? *text : std::string());
    if (health) all.emplace(name.substr(0, name.size() - suffix.size()), *health);
  }
  return all;
}

std::string health_words(const Health& health, const std::function<std::string(UnixMillis)>& time) {
  const std::string minute = time(health.at);
  const std::size_t count = health.findings.size();
  if (count == 0) return "ok, " + minute;
  const std::size_t shown = std::clamp<std::size_t>(health.gpu_findings, 1, shown_max);
  const auto end = health.findings.begin() + static_cast<std::ptrdiff_t>(std::min(shown, count));
  return std::to_string(count) + (count == 1 ? " finding, " : " findings, ") + minute + ": " +
         join({health.findings.begin(), end}, "; ");
}

std::map<std::string, std::string> kept_words(const std::string& folder,
                                              const std::function<std::string(UnixMillis)>& time) {
  std::map<std::string, std::string> words;
  for (const auto& [host, health] : kept_health(folder)) words[host] = health_words(health, time);
  return words;
}

}  // namespace muster::preflight
