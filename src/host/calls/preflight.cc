#include "host/calls/preflight.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/process/private_folders.h"
#include "base/terminal.h"
#include "base/text.h"
#include "host/measure/collect.h"
#include "job/preflight/health.h"
#include "net/loop/worker.h"

namespace muster::calls {

using job::Message;
using preflight::Finding;
using preflight::HostFacts;
using preflight::PairFacts;
using preflight::PairTask;

namespace {

constexpr Duration facts_wait = std::chrono::seconds(3);
constexpr Duration round_wait = std::chrono::seconds(5);
constexpr std::size_t all_names_max = 16;  ///< With more hosts each looks up some.

/// Each name is looked up by at least two other hosts, and the leader's by all.
std::vector<std::string> names_for(const job::Training& training) {
  const std::vector<std::string>& hosts = training.roll_call_hosts();
  if (hosts.size() <= all_names_max) return hosts;
  const auto own = std::find(hosts.begin(), hosts.end(), training.current_host);
  const auto at = static_cast<std::size_t>(own - hosts.begin());
  return {training.leader, hosts[(at + 1) % hosts.size()],
          hosts[(at + hosts.size() - 1) % hosts.size()]};
}

std::string json_of(const std::vector<HostFacts>& hosts, const std::vector<PairFacts>& ways,
                    const std::vector<Finding>& findings) {
  Json all = {{"Hosts", Json::array()}, {"Ways", Json::array()}, {"Findings", Json::array()}};
  for (const HostFacts& host : hosts) {
    Json one = preflight::to_json(host);
    one["host"] = host.host;
    one["clock_ahead_ms"] = host.clock_ahead_ms;
    all["Hosts"].push_back(std::move(one));
  }
  for (const PairFacts& way : ways) all["Ways"].push_back(preflight::to_json(way));
  for (const Finding& each : findings) all["Findings"].push_back(preflight::to_json(each));
  return visible_json(to_text(all)) + "\n";
}

/// In either direction.
bool is_between(const Finding& finding, const std::string& a, const std::string& b) {
  const std::vector<std::string>& hosts = finding.hosts;
  if (hosts.size() != 2) return false;
  return (hosts[0] == a && hosts[1] == b) || (hosts[0] == b && hosts[1] == a);
}

std::string count_text(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Result<PreflightOptions> preflight_options(const Env& env, bool has_steward) {
  PreflightOptions options;
  options.env = env;
  options.thresholds = TRY(preflight::thresholds_from(env));
  options.mode = has_steward ? PreflightMode::off : PreflightMode::light;
  const Env::const_iterator found = env.find("MUSTER_PREFLIGHT");
  if (found == env.end()) return options;
  const std::string& word = found->second;
  options.json = word == "json";
  if (word == "off")
    options.mode = PreflightMode::off;
  else if (word == "light")
    options.mode = PreflightMode::light;
  else if (word == "full" || word == "json")
    options.mode = PreflightMode::full;
  else
    return fail(Errc::invalid_input,
                "MUSTER_PREFLIGHT is \"" + to_utf8(word) + "\"; expected off, light, full or json");
  return options;
}

std::string start_text(PreflightMode mode) {
  if (mode == PreflightMode::off) return "{}";
  return to_text({{"preflight", mode == PreflightMode::full ? "full" : "light"}});
}

PreflightMode mode_in(std::string_view start_payload) {
  const Result<Json> json = parse_json(start_payload);
  if (!json || !json->is_object() || !json->contains("preflight")) return PreflightMode::off;
  return (*json)["preflight"] == "full" ? PreflightMode::full : PreflightMode::light;
}

// A host.

loop::Task<HostFacts> PreflightHost::facts(bool listens) {
  preflight::Collecting asked;
  asked.env = options_.env;
  asked.folder = training_.facts.base_dir;
  asked.interface = training_.interface;
  asked.names = names_for(training_);
  asked.gpus = training_.facts.num_gpus;
  asked.asks_driver = listens;  // Only a full one may take longer.
  const auto collect = [asked] { return preflight::collect(asked); };
  HostFacts facts = co_await loop::in_thread(loop_, collect);
  if (listens && !facts.addresses.empty()) {
    Result<preflight::Listener> listener = preflight::listen_at(facts.addresses.front());
    if (listener) {
      listener_ = std::make_shared<preflight::Listener>(*std::move(listener));
      facts.port = listener_->port;
    }
  }
  facts.clock_unix_ms = wall_time().count();
  co_return facts;
}

loop::Task<std::vector<PairFacts>> PreflightHost::measure(PairTask task) {
  if (!listener_) co_return std::vector<PairFacts>();
  const auto work = [task, listener = listener_] { return preflight::measure(task, *listener); };
  co_return co_await loop::in_thread(loop_, work);
}

// The leader.

PreflightLead::PreflightLead(loop::Loop& loop, const job::Training& training,
                             const PreflightOptions& options, const Log& log, Post post)
    : loop_(loop),
      training_(training),
      options_(options),
      log_(log),
      post_(std::move(post)),
      own_(loop, training, options),
      awaited_(training.roll_call_hosts().begin(), training.roll_call_hosts().end()),
      changed_(loop),
      tasks_(loop) {}

loop::Task<Result<void>> PreflightLead::run() {
  const TimePoint begin = Clock::now();
  tasks_.start(own_facts());
  co_await wait_for_all(facts_wait);
  for (const std::string& host : awaited_)
    log_.warning("preflight: " + host + " did not send information about itself in time");
  if (options_.mode == PreflightMode::full) co_await measure_ring();
  own_.close();
  for (const std::string& host : training_.roll_call_hosts())
    if (host != training_.current_host) post_(host, Message::preflight_over, "{}");
  co_return tell(Clock::now() - begin);
}

loop::Task<> PreflightLead::own_facts() {
  const std::string self = training_.current_host;
  HostFacts facts = co_await own_.facts(options_.mode == PreflightMode::full);
  facts.host = self;
  facts_[self] = std::move(facts);
  awaited_.erase(self);
  changed_.notify();
}

loop::Task<> PreflightLead::wait_for_all(Duration at_most) {
  const TimePoint deadline = Clock::now() + at_most;
  while (!awaited_.empty() && Clock::now() < deadline) co_await changed_.wait_until(deadline);
}

/// Slow routes are measured again: other work at one moment does not make a route slow.
loop::Task<> PreflightLead::measure_ring() {
  const std::vector<Round> rounds = preflight::ring_rounds(training_.roll_call_hosts().size());
  for (const Round& round : rounds) co_await measure_round(round);
  const std::vector<Round> again = slow_rounds();
  for (const Round& round : again) co_await measure_round(round);
}

std::vector<PreflightLead::Round> PreflightLead::slow_rounds() const {
  const std::vector<Finding> findings =
      preflight::judge(known_hosts(), preflight::merged(ways_), options_.thresholds);
  const auto is_slow = [&](const std::string& a, const std::string& b) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& each) {
      return is_between(each, a, b) && (each.kind == "bandwidth" || each.kind == "latency");
    });
  };
  std::vector<Round> rounds = preflight::ring_rounds(training_.roll_call_hosts().size());
  for (Round& round : rounds)
    std::erase_if(round, [&](const auto& edge) {
      return !is_slow(training_.roll_call_hosts()[edge.first],
                      training_.roll_call_hosts()[edge.second]);
    });
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

std::vector<HostFacts> PreflightLead::known_hosts() const {
  std::vector<HostFacts> hosts;
  for (const std::string& host : training_.roll_call_hosts())
    if (const auto found = facts_.find(host); found != facts_.end()) hosts.push_back(found->second);
  return hosts;
}

loop::Task<> PreflightLead::measure_round(Round round) {
  awaited_.clear();
  peers_.clear();
  for (const auto& [first, second] : round) {
    const auto a = facts_.find(training_.roll_call_hosts()[first]);
    const auto b = facts_.find(training_.roll_call_hosts()[second]);
    if (a == facts_.end() || b == facts_.end()) continue;
    if (a->second.port == 0 || b->second.port == 0) continue;
    const std::string hello = random_bytes(preflight::token_bytes);
    const std::string answer = random_bytes(preflight::token_bytes);
    give(a->second, b->second, true, hello, answer);
    give(b->second, a->second, false, hello, answer);
  }
  co_await wait_for_all(round_wait);
}

void PreflightLead::give(const HostFacts& host, const HostFacts& peer, bool connects,
                         const std::string& hello, const std::string& answer) {
  PairTask task;
  task.connects = connects;
  task.self = host.host;
  task.peer = peer.host;
  task.address = peer.addresses.empty() ? "" : peer.addresses.front();
  task.port = static_cast<std::uint16_t>(peer.port);
  task.hello = hello;
  task.answer = answer;
  peers_[host.host] = peer.host;
  awaited_.insert(host.host);
  if (host.host == training_.current_host)
    tasks_.start(own_ways(std::move(task)));
  else
    post_(host.host, Message::preflight_pair, to_text(preflight::to_json(task)));
}

loop::Task<> PreflightLead::own_ways(PairTask task) {
  const std::vector<PairFacts> ways = co_await own_.measure(std::move(task));
  take_ways(training_.current_host, ways);
}

void PreflightLead::member_facts(const std::string& from, std::string_view payload) {
  Result<HostFacts> facts = preflight::host_facts_from(payload);
  if (!facts) return log_.warning(from + ": " + facts.error().text);
  if (!awaited_.contains(from) || facts_.contains(from)) return;
  facts->host = from;
  facts->clock_ahead_ms = facts->clock_unix_ms - wall_time().count();
  facts_[from] = *std::move(facts);
  awaited_.erase(from);
  changed_.notify();
}

void PreflightLead::member_ways(const std::string& from, std::string_view payload) {
  const Result<std::vector<PairFacts>> ways = preflight::pairs_from(payload);
  if (!ways) return log_.warning(from + ": " + ways.error().text);
  take_ways(from, *ways);
}

void PreflightLead::take_ways(const std::string& from, const std::vector<PairFacts>& ways) {
  const auto peer = peers_.find(from);
  if (peer == peers_.end() || awaited_.erase(from) == 0) return;
  for (const PairFacts& way : ways) {
    const bool is_its_own = (way.from == from && way.to == peer->second) ||
                            (way.from == peer->second && way.to == from);
    if (is_its_own) ways_.push_back(way);
  }
  changed_.notify();
}

void PreflightLead::lost(const std::string& host) {
  awaited_.erase(host);
  changed_.notify();
}

Result<void> PreflightLead::tell(Duration took) {
  const std::vector<HostFacts> hosts = known_hosts();
  const std::vector<PairFacts> ways = preflight::merged(ways_);
  const std::vector<Finding> findings = preflight::judge(hosts, ways, options_.thresholds);
  const bool is_full = options_.mode == PreflightMode::full;
  if (is_full) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    log_.info("preflight: checked " + count_text(hosts.size(), "host") + " in " +
              std::to_string(ms) + " ms, " + count_text(findings.size(), "finding"));
    TRY(say(STDERR_FILENO, preflight::table_of(hosts, ways)));
  }
  for (const Finding& each : findings) {
    const std::string text = "preflight: " + each.text;
    if (is_full && each.level == Finding::Level::error)
      log_.error(text);
    else
      log_.warning(text);
  }
  if (is_full) keep(hosts, findings);
  if (options_.json) TRY(say(STDOUT_FILENO, json_of(hosts, ways, findings)));
  if (!is_full || !preflight::has_error(findings)) return {};
  return fail(Errc::closed, "the hosts cannot work together: " + findings.front().text);
}

void PreflightLead::keep(const std::vector<HostFacts>& hosts,
                         const std::vector<Finding>& findings) {
  const UnixMillis now = wall_time();
  if (keep_) {
    for (const HostFacts& host : hosts)
      keep_(host.host, preflight::health_text(host, findings, now));
    return;
  }
  const std::string folder = preflight::health_folder(state_folder(options_.env));
  const Result<void> kept = preflight::keep_health(folder, hosts, findings, now);
  if (!kept) log_.info("preflight: cannot store the result for sm nodes: " + kept.error().text);
}

}  // namespace muster::calls
