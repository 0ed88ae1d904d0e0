#include "host/env/place.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "base/variables.h"
#include "host/env/base_dir.h"
#include "host/env/named_hosts.h"
#include "net/addresses/interfaces.h"
#include "net/addresses/look_up.h"

namespace muster::env {
namespace {

// An address that the default route covers, for hosts that have no address yet (RFC 5737).
constexpr const char* elsewhere = "192.0.2.1";

/// Addresses of all active interfaces except the loopback; none if the kernel does not report them.
std::vector<InterfaceAddress> own_addresses() {
  std::vector<InterfaceAddress> all =
      interface_addresses().value_or(std::vector<InterfaceAddress>());
  std::erase_if(all, [](const InterfaceAddress& each) { return each.is_loopback || !each.is_up; });
  return all;
}

std::vector<std::string> addresses_of(const std::string& host) {
  std::vector<std::string> addresses;
  const Addresses found = look_up(host, 0);
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next)
    addresses.push_back(numeric_address(each->ai_addr));
  return addresses;
}

OwnNames own_names() {
  OwnNames own;
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) == 0) own.names.emplace_back(name);
  if (!own.names.empty()) {
    const Addresses full = look_up(own.names.front(), AI_CANONNAME);
    if (full && full->ai_canonname != nullptr && own.names.front() != full->ai_canonname)
      own.names.emplace_back(full->ai_canonname);
  }
  for (const InterfaceAddress& each : own_addresses()) own.addresses.push_back(each.address);
  return own;
}

/// As addresses_of(), but looks up no host twice, and stops after one second in total: each look-up
/// of a host that does not exist yet may wait for a name server.
AddressesOf remembered_addresses() {
  const TimePoint enough = Clock::now() + std::chrono::seconds(1);
  const auto known = std::make_shared<std::map<std::string, std::vector<std::string>>>();
  return [enough, known](const std::string& host) {
    const auto found = known->find(host);
    if (found != known->end()) return found->second;
    if (Clock::now() >= enough) return std::vector<std::string>();
    return (*known)[host] = addresses_of(host);
  };
}

/// The interface in a subnet that all hosts share. Otherwise, the interface of the route to another
/// host, or of the default route while that host has no address. Empty if there is none.
std::string interface_among(const NamedHosts& named, const AddressesOf& addresses) {
  const std::vector<InterfaceAddress> all = own_addresses();
  std::vector<std::vector<std::string>> others;
  for (const std::string& host : named.hosts)
    if (host != named.own) others.push_back(addresses(host));
  if (std::string common = common_interface(all, others); !common.empty()) return common;
  const auto with = [&all](const std::optional<std::string>& address) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const InterfaceAddress& each) {
      return address && each.address == *address;
    });
    return found == all.end() ? std::string() : found->interface;
  };
  const bool leads = named.own == named.hosts.front();
  const std::string other = named.hosts.size() == 1 ? named.own : named.hosts[leads ? 1 : 0];
  const std::string name = with(address_towards(other));
  return name.empty() ? with(address_towards(elsewhere)) : name;
}

bool has_resource_config(const Env& env) {
  return ::access((base_dir(env) + "/input/config/resourceconfig.json").c_str(), F_OK) == 0;
}

bool says(const Env& env, const std::string& name) {
  return !value_of(env, name).empty();
}

}  // namespace

Result<void> check_own_and_leader(const std::string& own, const std::string& leader) {
  NamedHosts named{.hosts = {own}, .own = own, .said_by = "resourceconfig.json"};
  if (leader != own) named.hosts.push_back(leader);
  return check_addresses(named, addresses_of);
}

std::string address_for_others(std::string address, const std::string& own,
                               const std::vector<std::string>& hosts) {
  const auto is_loopback = [](const std::string& each) {
    return each.starts_with("127.") || each == "::1";
  };
  const auto other = std::find_if(hosts.begin(), hosts.end(),
                                  [&own](const std::string& each) { return each != own; });
  if (!is_loopback(address) || other == hosts.end()) return address;
  address = address_towards(*other).value_or("");
  return is_loopback(address) ? "" : address;
}

void HostFlags::bind(command::Line& line) {
  bind_place(line);
  line.flag("--preflight", preflight);
}

void HostFlags::bind_place(command::Line& line) {
  line.text("--hosts", hosts);
  line.text("--host", host);
  line.text("--key-file", key_file);
  line.text("--interface", interface);
}

Result<Env> placed(const Env& env, const HostFlags& flags) {
  // Within a job, the process that restarts this command has set all variables.
  if (says(env, "MUSTER_SOCKET") && !flags.hosts.empty())
    return fail(Errc::invalid_input,
                "--hosts: cannot be used inside a job, whose hosts are already known; omit it");
  if (says(env, "MUSTER_SOCKET")) return env;
  Env result = env;
  const auto lay = [&result](const char* name, const std::string& value) {
    if (!value.empty()) result[name] = value;
  };
  lay("MUSTER_HOSTS", flags.hosts);
  lay("MUSTER_HOST", flags.host);
  lay("MUSTER_INTERFACE", flags.interface);
  lay("MUSTER_JOB_KEY_FILE", flags.key_file);
  lay("MUSTER_PREFLIGHT", flags.preflight ? "full" : "");
  if (!says(result, "MUSTER_HOSTS") && !says(result, "MUSTER_HOST") && has_resource_config(env))
    return result;
  std::optional<NamedHosts> named = TRY(named_hosts(result));
  if (!named) return result;
  if (named->own.empty()) named->own = TRY(own_among(*named, own_names(), addresses_of));
  const AddressesOf remembered = remembered_addresses();
  TRY(check_addresses(*named, remembered));
  lay("MUSTER_HOSTS", join(named->hosts, ","));
  lay("MUSTER_HOST", named->own);
  if (!says(result, "MUSTER_INTERFACE"))
    lay("MUSTER_INTERFACE", interface_among(*named, remembered));
  return result;
}

}  // namespace muster::env
