#include "job/host_spec.h"

#include <nlohmann/json.hpp>

#include "base/address_block.h"
#include "base/text.h"
#include "job/spec_fields.h"

namespace muster::job {
namespace {

constexpr std::size_t host_folder_bytes_max = 3000;  // PATH_MAX is 4096, and more lies below.
constexpr int port_max = 65535;
constexpr std::size_t interface_bytes_max = 15;  // IFNAMSIZ, less its NUL.

Result<void> check_first_id(const HostSpec& spec) {
  if (spec.first_id != 0 && (spec.first_id < first_id_min || spec.first_id > first_id_max))
    return expected("first_id", "0, or 65536 to 2147418112");
  return {};
}

/// What a host on its machine's own network is asked for and cannot have; each has a
/// way out.
Result<void> check_on_node(const HostSpec& spec) {
  const auto refuse = [&spec](const char* field, const char* why) {
    const char* const who = spec.light ? "a light host " : "a host in a scheduler's step ";
    return fail(Errc::invalid_input, field + std::string(": ") + who + why);
  };
  if (spec.spec.vpc) return refuse("VpcConfig", "uses its machine's network");
  if (spec.spec.encrypted)
    return refuse("EnableInterContainerTrafficEncryption",
                  "uses its machine's network, where muster encrypts only its own traffic");
  if (spec.spec.network == Network::none)
    return refuse("EnableNetworkIsolation", "uses its machine's network, which cannot be isolated");
  if (spec.spec.image && spec.light == spec.spec.image->tool.empty())
    return refuse("Muster.Image", spec.light ? "cannot run an image; it runs its machine's programs"
                                             : "runs images itself, without a Tool");
  if (!spec.light) return check_first_id(spec);
  if (!spec.spec.bound.empty())
    return refuse("Muster.Bound", "uses its machine's folders at their own paths");
  if (!spec.devices.nodes.empty() || !spec.devices.mounts.empty())
    return refuse("devices", "uses all devices that its machine allows it to open");
  if (spec.in_step) return expected("in_step", "a light host or a container, not both");
  return {};
}

/// What a host with a container needs of its machine's network.
Result<void> check_contained(const HostSpec& spec) {
  if (spec.bridge.empty() || spec.bridge.size() > interface_bytes_max || !only_has(spec.bridge, ""))
    return expected("bridge", "an interface name of at most 15 letters and digits");
  TRY(check_first_id(spec));
  if (spec.spec.vpc.has_value() == spec.machine_subnet.empty())
    return expected("machine_subnet", "a subnet if the host is in a VPC, otherwise none");
  if (spec.machine_subnet.empty()) return {};
  const Result<AddressBlock> block = block_from(spec.machine_subnet);
  if (!block || block->prefix_length != 24) return expected("machine_subnet", "a /24");
  return {};
}

}  // namespace

bool shares_network(const HostSpec& spec) {
  return spec.light || spec.in_step || spec.spec.network == Network::host;
}

const std::string& own_address(const HostSpec& spec) {
  for (const HostAddress& host : spec.hosts)
    if (host.name == spec.host) return host.address;
  CHECK_THAT(false, "a host that is not of its own job");
  return spec.host;
}

std::string machine_address(const HostSpec& spec) {
  const Result<AddressBlock> block = block_from(spec.machine_subnet);
  const std::optional<std::int64_t> number =
      parse_integer(spec.host.substr(spec.host.rfind('-') + 1));
  if (!block || !number || *number > 255) return own_address(spec);
  return address_in(*block, static_cast<std::uint32_t>(*number));
}

Result<void> check(const HostSpec& spec) {
  TRY(check(spec.spec));
  bool found = false;
  for (const HostAddress& host : spec.hosts) {
    if (!is_job_name(host.name)) return expected("hosts", "names like algo-1");
    if (host.address.empty() || host.address.find_first_not_of("0123456789.") != std::string::npos)
      return expected("hosts[" + host.name + "].address", "a numeric IPv4 address");
    found = found || host.name == spec.host;
  }
  if (!found) return expected("host", "one of \"hosts\", got \"" + to_utf8(spec.host) + "\"");
  TRY(spec.light || spec.in_step ? check_on_node(spec) : check_contained(spec));
  if (spec.rollcall_port < 1 || spec.rollcall_port > port_max)
    return expected("rollcall_port", "1 to 65535");
  if (spec.interface.size() > interface_bytes_max || !only_has(spec.interface, ".-_@:"))
    return expected("interface", "an interface name of at most 15 letters and digits");
  if (spec.prefix_length < 8 || spec.prefix_length > 30)
    return expected("prefix_length", "8 to 30");
  TRY(check_path("state_folder", spec.state_folder, false));
  TRY(check_path("job_folder", spec.job_folder, false));
  TRY(check_path("host_folder", spec.host_folder, false));
  if (spec.host_folder.size() > host_folder_bytes_max)
    return expected("host_folder", "at most " + std::to_string(host_folder_bytes_max) + " bytes");
  TRY(check_path("key_file", spec.key_file, false));
  if (spec.journal_from < 0) return expected("journal_from", "0 or more");
  return check(spec.devices);
}

Json to_json(const HostSpec& spec) {
  Json hosts = Json::array();
  for (const HostAddress& host : spec.hosts)
    hosts.push_back({{"name", host.name}, {"address", host.address}});
  Json json{{"spec", to_json(spec.spec)},
            {"host", spec.host},
            {"hosts", hosts},
            {"bridge", spec.bridge},
            {"prefix_length", spec.prefix_length},
            {"machine_subnet", spec.machine_subnet},
            {"first_id", spec.first_id},
            {"state_folder", spec.state_folder},
            {"job_folder", spec.job_folder},
            {"host_folder", spec.host_folder},
            {"key_file", spec.key_file}};
  if (spec.light) json.emplace("light", true);
  if (spec.in_step) json.emplace("in_step", true);
  if (spec.rollcall_port != HostSpec{}.rollcall_port)
    json.emplace("rollcall_port", spec.rollcall_port);
  if (!spec.interface.empty()) json.emplace("interface", spec.interface);
  if (spec.journal_from > 0) json.emplace("journal_from", spec.journal_from);
  if (spec.devices != HostDevices{}) json.emplace("devices", to_json(spec.devices));
  return json;
}

Result<HostSpec> host_spec_from(const Json& json) {
  HostSpec spec;
  Fields fields(json, "");
  const Json* const job = fields.object("spec");
  if (job == nullptr && !fields.error()) return expected("spec", "a value");
  fields.text("host", spec.host, true);
  if (const Json* const hosts = fields.array("hosts"))
    for (std::size_t i = 0; i < hosts->size(); ++i) {
      Fields inner((*hosts)[i], "hosts[" + std::to_string(i) + "]");
      HostAddress& host = spec.hosts.emplace_back();
      inner.text("name", host.name, true);
      inner.text("address", host.address, true);
      fields.take(inner);
    }
  fields.flag("light", spec.light);
  fields.flag("in_step", spec.in_step);
  fields.integer("rollcall_port", spec.rollcall_port);
  fields.text("interface", spec.interface);
  fields.text("bridge", spec.bridge, !spec.light && !spec.in_step);
  fields.integer("prefix_length", spec.prefix_length);
  fields.text("machine_subnet", spec.machine_subnet);
  fields.integer("first_id", spec.first_id);
  fields.text("state_folder", spec.state_folder, true);
  fields.text("job_folder", spec.job_folder, true);
  fields.text("host_folder", spec.host_folder, true);
  fields.text("key_file", spec.key_file, true);
  fields.integer("journal_from", spec.journal_from);
  const Json* const devices = fields.object("devices");
  fields.no_others();
  if (fields.error()) return *fields.error();
  if (devices != nullptr) spec.devices = TRY(host_devices_from(*devices));
  spec.spec = TRY(spec_from(*job));
  TRY(check(spec));
  return spec;
}

}  // namespace muster::job
