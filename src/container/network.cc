#include "container/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "container/link.h"
#include "loop/http.h"

namespace muster::container {
namespace {

namespace fs = std::filesystem;

constexpr const char* links_folder = "/sys/class/net";
constexpr std::size_t bridge_name_bytes = 10;
constexpr std::string_view alias_start = "muster ";
constexpr std::string_view loopback_start = "127.";

struct NewNamespace {
  Fd name_space;
  Fd socket;  ///< Made inside: requests through it are about the namespace's interfaces.
};

Result<NewNamespace> visit_new_namespace() {
  const Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) return fail_errno("/proc/thread-self/ns/net");
  if (::unshare(CLONE_NEWNET) != 0) return fail_errno("a network namespace");
  NewNamespace made;
  made.name_space = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  made.socket = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool whole = made.name_space && made.socket;
  const Error error = whole ? Error{} : fail_errno("a network namespace");
  CHECK_THAT(::setns(home.get(), CLONE_NEWNET) == 0, "no way back from a network namespace");
  if (!whole) return error;
  return made;
}

/// Several stewards of a job may do this at once; each step is fine if it was done already.
Result<void> join_bridge(int socket, const job::HostSpec& spec, const std::string& cable) {
  TRY(make_bridge(spec.bridge));
  TRY(set_alias(spec.bridge, std::string(alias_start) + spec.job_folder));
  TRY(set_address(socket, spec.bridge, spec.bridge_address, spec.prefix_length));
  TRY(set_up(socket, spec.bridge));
  TRY(add_to_bridge(socket, spec.bridge, cable));
  return set_up(socket, cable);
}

bool is_own_name(const std::string& name) {
  if (name.size() < bridge_name_bytes || name.compare(0, 2, "mu") != 0) return false;
  if (name.find_first_not_of("0123456789abcdef", 2) < bridge_name_bytes) return false;
  return name.size() == bridge_name_bytes || name[bridge_name_bytes] == '-';
}

}  // namespace

HostNetwork::~HostNetwork() {
  // The namespace's end of the cable takes this one along, but only some time after the last
  // process in it: a job that starts right after must not find it.
  if (namespace_) static_cast<void>(delete_link(cable_));
}

Result<HostNetwork> HostNetwork::open(const job::HostSpec& spec) {
  NewNamespace made = TRY(visit_new_namespace());
  const Fd here(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!here) return fail_errno("socket");
  const std::string cable = cable_name(spec);
  TRY(make_cable(cable, "eth0", made.name_space.get()));
  HostNetwork network(std::move(made.name_space), cable);
  TRY(join_bridge(here.get(), spec, cable));
  TRY(set_up(made.socket.get(), "lo"));
  TRY(set_address(made.socket.get(), "eth0", job::own_address(spec), spec.prefix_length));
  TRY(set_up(made.socket.get(), "eth0"));
  return network;
}

Result<Fd> HostNetwork::listen(const std::string& host_address, std::uint16_t port) const {
  const Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!home) return fail_errno("/proc/thread-self/ns/net");
  if (::setns(namespace_.get(), CLONE_NEWNET) != 0) return fail_errno("the host's network");
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  CHECK_THAT(::setns(home.get(), CLONE_NEWNET) == 0, "no way back from a network namespace");
  if (!host_address.starts_with(loopback_start) && socket)
    TRY(set_address(socket.get(), "lo:0", host_address, 32));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (::inet_pton(AF_INET, host_address.c_str(), &address.sin_addr) != 1)
    return fail(Errc::invalid_input, "not an IPv4 address: " + host_address);
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof address);
  const bool bound = socket && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage),
                                      sizeof address) == 0;
  if (bound && ::listen(socket.get(), SOMAXCONN) == 0) return socket;
  return fail_errno(host_address + ":" + std::to_string(port) + " of the host");
}

Result<std::optional<Doorway>> doorway(const job::S3Access& access) {
  if (access.endpoint.empty()) return std::optional<Doorway>();
  const loop::HttpUrl url = TRY(loop::parse_http_url(access.endpoint));
  const std::string& host = url.origin.host;
  if (host.find(':') != std::string::npos) return std::optional<Doorway>();
  in_addr parsed{};
  Doorway way{"127.0.0.1", url.origin.port, {}, host};
  if (::inet_pton(AF_INET, host.c_str(), &parsed) == 1)
    way.address = host;
  else if (host != "localhost")
    way.name = host;
  return std::optional<Doorway>(std::move(way));
}

std::string HostNetwork::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(namespace_.get());
}

std::string cable_name(const job::HostSpec& spec) {
  const std::size_t dash = spec.host.rfind('-');
  return spec.bridge + "-" + spec.host.substr(dash == std::string::npos ? 0 : dash + 1);
}

Result<void> remove_interface(const std::string& name) {
  return delete_link(name);
}

void remove_idle_bridge(const std::string& bridge) {
  std::error_code code;
  const fs::path members = fs::path(links_folder) / bridge / "brif";
  if (fs::is_empty(members, code) && !code) static_cast<void>(delete_link(bridge));
}

std::vector<OwnInterface> own_interfaces() {
  std::vector<OwnInterface> found;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(links_folder, code)) {
    const std::string name = entry.path().filename();
    if (!is_own_name(name)) continue;
    const Result<std::string> alias =
        read_file(std::string(links_folder) + "/" + name.substr(0, bridge_name_bytes) + "/ifalias");
    OwnInterface link{name, {}};
    if (alias && alias->compare(0, alias_start.size(), alias_start) == 0)
      link.job_folder = trim(alias->substr(alias_start.size()));
    found.push_back(std::move(link));
  }
  std::sort(found.begin(), found.end(), [](const OwnInterface& a, const OwnInterface& b) {
    return a.name.size() > b.name.size();
  });
  return found;
}

}  // namespace muster::container
