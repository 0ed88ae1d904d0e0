#include "job/preflight/judge.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/address_block.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"

namespace muster::preflight {
namespace {

using Level = Finding::Level;
using Hosts = std::vector<HostFacts>;

constexpr std::size_t troubles_max = 16;  ///< A host's cards with more remarks are few.
constexpr std::size_t named_max = 4;      ///< More hosts than these are counted.
constexpr double gib = 1024.0 * 1024 * 1024;

std::string number_text(double number, int digits) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), number, std::chars_format::fixed,
                                 number < 10 && number != std::floor(number) ? digits : 0);
  return std::string(text, end.ptr);
}

std::string size_text(std::int64_t bytes) {
  const double number = static_cast<double>(bytes);
  return number < gib ? number_text(number / (gib / 1024), 1) + " MiB"
                      : number_text(number / gib, 1) + " GiB";
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() <= named_max) return join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + named_max);
  return join(first, ", ") + " and " + std::to_string(names.size() - named_max) + " more";
}

/// A difference of clocks, in tenths of a second.
std::string ahead_text(std::int64_t ms) {
  const double tenths = std::round(static_cast<double>(ms) / 100);
  if (tenths == 0) return "0 s";
  return (tenths < 0 ? "-" : "+") + number_text(std::abs(tenths) / 10, 1) + " s";
}

/// A round trip is one of both ways; one of the two hosts measured it.
double round_trip_of(const PairFacts& pair, const std::vector<PairFacts>& pairs) {
  if (pair.latency_us > 0) return pair.latency_us;
  for (const PairFacts& other : pairs)
    if (other.from == pair.to && other.to == pair.from) return other.latency_us;
  return 0;
}

class Judge {
 public:
  Judge(const Hosts& hosts, const std::vector<PairFacts>& pairs, const Thresholds& thresholds)
      : hosts_(hosts), pairs_(pairs), thresholds_(thresholds) {}

  std::vector<Finding> run() {
    names();
    interfaces();
    ports();
    clocks();
    room();
    alike("sm", "sm", [](const HostFacts& host) { return host.muster; });
    if (findings_of("sm") == 0)
      alike("sm", "build of sm", [](const HostFacts& host) { return host.build.substr(0, 12); });
    alike("python", "Python", [](const HostFacts& host) { return host.python; });
    alike("mpi", "MPI library", [](const HostFacts& host) { return host.mpi; });
    packages();
    gpus();
    alike("mtu", "MTU", [](const HostFacts& host) {
      return host.mtu == 0 ? std::string() : std::to_string(host.mtu);
    });
    speeds();
    std::stable_partition(findings_.begin(), findings_.end(),
                          [](const Finding& each) { return each.level == Level::error; });
    return std::move(findings_);
  }

 private:
  void add(Level level, const std::string& kind, std::vector<std::string> hosts,
           const std::string& text) {
    findings_.push_back({level, kind, std::move(hosts), visible_line(text)});
  }

  std::ptrdiff_t findings_of(const std::string& kind) const {
    return std::count_if(findings_.begin(), findings_.end(),
                         [&](const Finding& each) { return each.kind == kind; });
  }

  std::string named(const std::string& host) const {
    const auto found = std::find_if(hosts_.begin(), hosts_.end(),
                                    [&](const HostFacts& each) { return each.host == host; });
    return found == hosts_.end() ? host : name_of(*found);
  }

  std::vector<std::string> named(const std::vector<std::string>& hosts) const {
    std::vector<std::string> names;
    for (const std::string& host : hosts) names.push_back(named(host));
    return names;
  }

  /// "torch 2.1.0 on node3, 2.2.1 on the others"
  void alike(const std::string& kind, const std::string& what,
             const std::function<std::string(const HostFacts&)>& value_of) {
    std::map<std::string, std::vector<std::string>> groups;
    for (const HostFacts& host : hosts_) groups[value_of(host)].push_back(host.host);
    if (groups.size() < 2) return;
    const auto usual = std::max_element(
        groups.begin(), groups.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const bool is_majority = usual->second.size() * 2 > hosts_.size();
    std::vector<std::string> odd;
    std::vector<std::string> parts;
    for (const auto& [value, members] : groups) {
      if (is_majority && value == usual->first) continue;
      odd.insert(odd.end(), members.begin(), members.end());
      parts.push_back((value.empty() ? "none" : value) + " on " + listed(named(members)));
    }
    if (is_majority)
      parts.push_back((usual->first.empty() ? "none" : usual->first) + " on the others");
    add(Level::warning, kind, std::move(odd), what + ": " + join(parts, ", "));
  }

  void packages() {
    std::set<std::string> all;
    for (const HostFacts& host : hosts_)
      for (const auto& [name, version] : host.packages) all.insert(name);
    for (const std::string& name : all)
      alike("package", name, [&name](const HostFacts& host) {
        const auto found = host.packages.find(name);
        return found == host.packages.end() ? std::string() : found->second;
      });
  }

  void gpus() {
    alike("gpu", "GPUs", [](const HostFacts& host) {
      std::map<std::string, int> counts;
      for (const std::string& gpu : host.gpus) ++counts[gpu];
      std::vector<std::string> parts;
      for (const auto& [model, count] : counts)
        parts.push_back(std::to_string(count) + " x " + (model.empty() ? "GPU" : model));
      return join(parts, " + ");
    });
    alike("gpu", "GPU driver", [](const HostFacts& host) { return host.gpu_driver; });
    alike("gpu", "libcuda", [](const HostFacts& host) { return host.gpu_library; });
    alike("rdma", "InfiniBand and RoCE ports", [](const HostFacts& host) { return host.rdma; });
    gpu_health();
  }

  void gpu_health() {
    std::vector<std::string> unreadable;
    for (const HostFacts& host : hosts_) {
      if (!host.kernel_log.empty()) unreadable.push_back(host.host);
      if (!host.gpu_driver.empty() && !host.gpu_library.empty() &&
          host.gpu_driver != host.gpu_library)
        add(Level::warning, gpu_health_kind, {host.host},
            name_of(host) + ": the GPU driver has version " + host.gpu_driver +
                ", but libcuda has version " + host.gpu_library);
      for (std::size_t i = 0; i < std::min(host.gpu_troubles.size(), troubles_max); ++i)
        add(Level::warning, gpu_health_kind, {host.host},
            name_of(host) + ": " + host.gpu_troubles[i]);
    }
    if (unreadable.empty()) return;
    const std::string text = "GPU errors (Xid) cannot be read on " + listed(named(unreadable)) +
                             ": add the user to the group systemd-journal, or run sysctl "
                             "kernel.dmesg_restrict=0 there";
    add(Level::warning, "kernel_log", std::move(unreadable), text);
  }

  void clocks() {
    std::vector<std::int64_t> ahead;
    for (const HostFacts& host : hosts_) ahead.push_back(host.clock_ahead_ms);
    if (ahead.size() < 2) return;
    std::sort(ahead.begin(), ahead.end());
    const double limit = thresholds_.clock_seconds * 1000;
    if (hosts_.size() == 2) {
      const double apart = static_cast<double>(ahead[1]) - static_cast<double>(ahead[0]);
      if (apart > limit)
        add(Level::warning, "clock", {hosts_[0].host, hosts_[1].host},
            "the clocks of " + name_of(hosts_[0]) + " and " + name_of(hosts_[1]) + " are " +
                seconds(apart) + " apart");
      return;
    }
    const double usual = static_cast<double>(ahead[(ahead.size() - 1) / 2]);
    for (const HostFacts& host : hosts_) {
      const double off = static_cast<double>(host.clock_ahead_ms) - usual;
      if (std::abs(off) <= limit) continue;
      add(Level::warning, "clock", {host.host},
          "the clock of " + name_of(host) + " is " + seconds(std::abs(off)) +
              (off < 0 ? " behind the others'" : " ahead of the others'"));
    }
  }

  static std::string seconds(double ms) { return number_text(ms / 1000, 1) + " s"; }

  void room() {
    for (const HostFacts& host : hosts_) {
      const double free_gib = static_cast<double>(host.disk_free_bytes) / gib;
      if (host.disk_bytes > 0 && free_gib < thresholds_.disk_gib)
        add(Level::warning, "disk", {host.host},
            name_of(host) + " has " + size_text(host.disk_free_bytes) +
                " free on the disk that holds the job's files");
      const double free_percent = 100.0 * static_cast<double>(host.memory_free_bytes) /
                                  static_cast<double>(std::max<std::int64_t>(host.memory_bytes, 1));
      if (host.memory_bytes > 0 && free_percent < thresholds_.memory_percent)
        add(Level::warning, "memory", {host.host},
            name_of(host) + " has " + size_text(host.memory_free_bytes) + " of " +
                size_text(host.memory_bytes) + " memory free");
    }
  }

  /// Each name, as the other hosts see it. What a host's own name means to itself is no matter: it
  /// is often a loopback address.
  void names() {
    for (const HostFacts& host : hosts_) name_as_seen(host);
  }

  struct View {
    std::string viewer;
    std::vector<std::string> addresses;
    bool is_own = false;  ///< One of them is an address that the host says it has.
  };

  std::vector<View> views_of(const HostFacts& host) const {
    std::vector<View> views;
    for (const HostFacts& viewer : hosts_) {
      const auto found = viewer.names.find(host.host);
      if (&viewer == &host || found == viewer.names.end()) continue;
      const bool is_own = std::any_of(
          found->second.begin(), found->second.end(), [&host](const std::string& address) {
            return std::count(host.addresses.begin(), host.addresses.end(), address) > 0;
          });
      views.push_back({viewer.host, found->second, is_own});
    }
    return views;
  }

  void name_as_seen(const HostFacts& host) {
    const std::vector<View> views = views_of(host);
    const auto right =
        std::find_if(views.begin(), views.end(), [](const View& view) { return view.is_own; });
    for (const View& view : views) {
      if (view.is_own) continue;
      if (view.addresses.empty()) {
        add(Level::error, "name", {view.viewer},
            named(view.viewer) + " cannot resolve the name " + host.host +
                "; check /etc/hosts and the name server there");
      } else if (right != views.end()) {
        add(Level::error, "name", {view.viewer},
            host.host + " resolves to " + join(view.addresses, ", ") + " on " + named(view.viewer) +
                ", which is not one of its addresses; it resolves to " +
                join(right->addresses, ", ") + " on " + named(right->viewer));
      } else if (&view == &views.front()) {
        add(Level::warning, "name", {host.host},
            host.host + " resolves to " + join(view.addresses, ", ") + " on " + named(view.viewer) +
                ", which is not one of its own addresses (" + join(host.addresses, ", ") + ")");
      }
    }
  }

  void interfaces() {
    for (const HostFacts& host : hosts_) {
      if (host.interfaces.empty()) continue;
      if (has_only_v6(host)) {
        add(Level::error, "ipv6", {host.host},
            name_of(host) + " has only IPv6 addresses (" + join(host.addresses, ", ") +
                "), but a job's hosts connect to each other over IPv4");
        continue;
      }
      if (host.interfaces.contains(host.interface)) continue;
      std::vector<std::string> there;
      for (const auto& [name, addresses] : host.interfaces)
        if (!is_loopback(addresses)) there.push_back(name);
      add(Level::error, "interface", {host.host},
          name_of(host) + " has no network interface \"" + host.interface +
              "\" with an address, which it is configured to use; it has " +
              (there.empty() ? "none" : listed(there)));
    }
    if (findings_of("interface") + findings_of("ipv6") == 0) subnets();
  }

  static bool is_loopback(const std::vector<std::string>& addresses) {
    return std::all_of(addresses.begin(), addresses.end(), [](const std::string& each) {
      return each.starts_with("127.") || each == "::1/128";
    });
  }

  static bool has_only_v6(const HostFacts& host) {
    return !host.addresses.empty() &&
           std::none_of(host.addresses.begin(), host.addresses.end(), [](const std::string& each) {
             return each.find('.') != std::string::npos;
           });
  }

  static std::string subnet(const std::string& address) {
    const std::size_t slash = std::min(address.find('/'), address.size());
    const std::optional<std::int64_t> bits =
        slash == address.size() ? std::nullopt : parse_integer(address.substr(slash + 1));
    return subnet_of(address.substr(0, slash), bits && *bits < 33 ? static_cast<int>(*bits) : -1);
  }

  /// By subnet: the addresses that the hosts have there, and how many use an interface in it.
  struct Subnet {
    std::map<std::string, std::string> interfaces;  ///< By host.
    std::set<std::string> addresses;
    std::size_t users = 0;
  };

  /// Where all hosts have an interface in one subnet, those that are to use another are named.
  void subnets() {
    std::map<std::string, Subnet> all;
    for (const HostFacts& host : hosts_)
      for (const auto& [name, addresses] : host.interfaces)
        for (const std::string& address : addresses) {
          const std::string net = subnet(address);
          if (net.empty() || address.starts_with("127.")) continue;
          Subnet& found = all[net];
          found.addresses.insert(address);
          if (name == host.interface && found.interfaces[host.host] != name) ++found.users;
          if (found.interfaces[host.host] != host.interface) found.interfaces[host.host] = name;
        }
    // One that has the same address on several hosts is each host's own: docker0.
    std::erase_if(all, [this](const auto& each) {
      return each.second.interfaces.size() < hosts_.size() ||
             each.second.addresses.size() < hosts_.size();
    });
    const auto common = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.second.users < b.second.users;
    });
    if (common == all.end()) return;
    for (const HostFacts& host : hosts_) {
      const std::string& there = common->second.interfaces.at(host.host);
      if (there == host.interface) continue;
      add(Level::warning, "interface", {host.host},
          name_of(host) + " is configured to use " + host.interface + ", outside the subnet " +
              common->first + " that all hosts share; there it has " + there);
    }
  }

  void ports() {
    for (const PairFacts& pair : pairs_) {
      if (pair.error.empty()) continue;
      const bool both = std::any_of(pairs_.begin(), pairs_.end(), [&](const PairFacts& other) {
        return !other.error.empty() && other.from == pair.to && other.to == pair.from;
      });
      if (both && pair.to < pair.from) continue;
      add(Level::error, "port", {pair.from, pair.to},
          named(pair.from) + (both ? " ↔ " : " → ") + named(pair.to) + ": " +
              (both ? "no connection either way: " : "no connection: ") + pair.error);
    }
  }

  /// The median of what the other pairs have of it; 0 where none has.
  double others(const PairFacts& pair, double PairFacts::*value) const {
    std::vector<double> values;
    for (const PairFacts& other : pairs_)
      if (&other != &pair && other.*value > 0) values.push_back(other.*value);
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  void speeds() {
    for (const PairFacts& pair : pairs_) {
      const std::string way = named(pair.from) + " → " + named(pair.to) + ": ";
      const double usual = others(pair, &PairFacts::bits_per_second);
      if (pair.bits_per_second > 0 && pair.bits_per_second < thresholds_.bandwidth_ratio * usual)
        add(Level::warning, "bandwidth", {pair.from, pair.to},
            way + bandwidth_text(pair.bits_per_second) + ", others " + bandwidth_text(usual));
      const double usual_us = others(pair, &PairFacts::latency_us);
      if (usual_us > 0 && pair.latency_us > thresholds_.latency_ratio * usual_us &&
          pair.latency_us > thresholds_.latency_us)
        add(Level::warning, "latency", {pair.from, pair.to},
            way + "a round trip takes " + latency_text(pair.latency_us) + ", others " +
                latency_text(usual_us));
    }
  }

  const Hosts& hosts_;
  const std::vector<PairFacts>& pairs_;
  const Thresholds& thresholds_;
  std::vector<Finding> findings_;
};

struct Setting {
  const char* variable;
  double Thresholds::*value;
  double most;
};
const Setting settings[] = {{"MUSTER_PREFLIGHT_CLOCK_SECONDS", &Thresholds::clock_seconds, 1e9},
                            {"MUSTER_PREFLIGHT_DISK_GIB", &Thresholds::disk_gib, 1e9},
                            {"MUSTER_PREFLIGHT_MEMORY_PERCENT", &Thresholds::memory_percent, 100},
                            {"MUSTER_PREFLIGHT_BANDWIDTH_RATIO", &Thresholds::bandwidth_ratio, 1},
                            {"MUSTER_PREFLIGHT_LATENCY_RATIO", &Thresholds::latency_ratio, 1e9},
                            {"MUSTER_PREFLIGHT_LATENCY_US", &Thresholds::latency_us, 1e9}};

}  // namespace

Result<Thresholds> thresholds_from(const Env& env) {
  Thresholds thresholds;
  for (const Setting& setting : settings) {
    const Env::const_iterator found = env.find(setting.variable);
    if (found == env.end()) continue;
    const std::string& text = found->second;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool fits = error == std::errc() && end == text.data() + text.size() && value >= 0 &&
                      value <= setting.most;
    if (!fits)
      return fail(Errc::invalid_input, std::string(setting.variable) + " is \"" + to_utf8(text) +
                                           "\"; expected a number from 0 to " +
                                           number_text(setting.most, 0));
    thresholds.*setting.value = value;
  }
  return thresholds;
}

std::optional<std::string> threshold_variable(std::string_view name) {
  std::string variable = std::string("MUSTER_PREFLIGHT_") + std::string(name);
  for (char& each : variable)
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
  for (const Setting& setting : settings)
    if (variable == setting.variable) return variable;
  return std::nullopt;
}

std::vector<Finding> judge(const std::vector<HostFacts>& hosts, const std::vector<PairFacts>& pairs,
                           const Thresholds& thresholds) {
  return Judge(hosts, pairs, thresholds).run();
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.level == Level::error; });
}

Json to_json(const Finding& finding) {
  return {{"level", finding.level == Level::error ? "error" : "warning"},
          {"kind", finding.kind},
          {"hosts", finding.hosts},
          {"text", finding.text}};
}

std::string table_of(const std::vector<HostFacts>& hosts, const std::vector<PairFacts>& pairs) {
  std::vector<TableRow> rows = {
      {"HOST", "CLOCK", "DISK FREE", "MEMORY FREE", "GPUS", "INTERFACE", "MTU", "PYTHON", "SM"}};
  for (const HostFacts& host : hosts)
    rows.push_back({visible_line(name_of(host)), ahead_text(host.clock_ahead_ms),
                    size_text(host.disk_free_bytes), size_text(host.memory_free_bytes),
                    std::to_string(host.gpus.size()), visible_line(host.interface),
                    std::to_string(host.mtu), visible_line(host.python),
                    visible_line(host.muster)});
  std::string text = table_text(rows);
  if (pairs.empty()) return text;
  rows = {{"FROM", "TO", "ROUND TRIP", "BANDWIDTH"}};
  for (const PairFacts& pair : pairs)
    rows.push_back({pair.from, pair.to,
                    pair.error.empty() ? latency_text(round_trip_of(pair, pairs)) : "no connection",
                    bandwidth_text(pair.bits_per_second)});
  return text + "\n" + table_text(rows);
}

std::string bandwidth_text(double bits_per_second) {
  if (bits_per_second <= 0) return "-";
  if (bits_per_second < 1e9) return number_text(bits_per_second / 1e6, 1) + " Mbit/s";
  return number_text(bits_per_second / 1e9, 1) + " Gbit/s";
}

std::string latency_text(double microseconds) {
  if (microseconds <= 0) return "-";
  if (microseconds < 1000) return number_text(microseconds, 0) + " µs";
  return number_text(microseconds / 1000, 1) + " ms";
}

std::string name_of(const HostFacts& facts) {
  const bool same = facts.node.empty() || facts.node == facts.host ||
                    facts.host.starts_with(facts.node + ".") ||
                    facts.node.starts_with(facts.host + ".");
  return same ? facts.host : facts.host + " (" + facts.node + ")";
}

}  // namespace muster::preflight
