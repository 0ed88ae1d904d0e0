#include "container/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "container/gateway.h"
#include "container/link.h"
#include "container/segment.h"
#include "container/tunnel.h"
#include "http/client.h"

namespace muster::container {
namespace {

constexpr std::string_view loopback_start = "127.";

/// The calling thread in another network namespace, until this goes.
class Visit {
 public:
  static Result<Visit> begin(int name_space) {
    Fd home(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!home) return fail_errno("/proc/thread-self/ns/net");
    if (::setns(name_space, CLONE_NEWNET) != 0) return fail_errno("entering a network namespace");
    return Visit(std::move(home));
  }
  Visit(Visit&&) noexcept = default;
  Visit& operator=(Visit&&) = delete;
  ~Visit() {
    if (home_)
      CHECK_THAT(::setns(home_.get(), CLONE_NEWNET) == 0, "no way back from a network namespace");
  }

 private:
  explicit Visit(Fd home) : home_(std::move(home)) {}
  Fd home_;
};

/// Any socket of a namespace: requests through it are about that namespace's interfaces.
Result<Fd> any_socket() {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("socket");
  return socket;
}

/// Where the job's stewards find which cipher the first of them found.
std::string cipher_file(const job::HostSpec& spec) {
  return spec.job_folder + "/cipher";
}

/// The cipher that cipher_file() names; none for a job without one.
Result<std::optional<Cipher>> cipher_of(const job::HostSpec& spec) {
  if (!is_encrypted(spec)) return std::optional<Cipher>();
  const std::string name = TRY(read_file(cipher_file(spec)));
  const std::optional<Cipher> cipher = cipher_from(trim(name));
  if (!cipher) return fail(Errc::protocol, cipher_file(spec) + ": expected a cipher's name");
  return cipher;
}

/// Between the hosts, in the namespace of the bridge.
Result<void> choose_cipher(const job::HostSpec& spec, const Env& env) {
  const Result<Cipher> found = find_cipher(env);
  if (!found) return found.error().in("what hosts send each other cannot be encrypted here");
  return write_file(cipher_file(spec), std::string(cipher_name(*found)) + "\n", 0600);
}

/// In a routed job nothing hangs on the bridge: by its name the namespace is known.
Result<Fd> namespace_with_bridge(const job::HostSpec& spec, const Env& env) {
  HostNamespaces alone = TRY(open_namespaces(std::nullopt));
  const Visit visit = TRY(Visit::begin(alone.network.get()));
  const Fd socket = TRY(any_socket());
  TRY(disable_ipv6("all"));
  TRY(make_bridge(spec.bridge));
  TRY(set_up(socket.get(), spec.bridge));
  if (is_encrypted(spec)) TRY(choose_cipher(spec, env));
  const std::optional<Cipher> cipher = TRY(cipher_of(spec));
  const Result<void> routed = is_routed(spec) ? make_router(spec, cipher, env) : Result<void>();
  if (!routed) return spec.spec.vpc ? routed.error().in("VpcConfig") : routed.error();
  return std::move(alone.network);
}

/// The bridge's namespace becomes the hosts' router.
Result<void> route_outside(const Fd& bridge, const job::HostSpec& spec, const Outside& outside) {
  const Visit visit = TRY(Visit::begin(bridge.get()));
  const Fd socket = TRY(any_socket());
  if (!is_routed(spec)) TRY(set_address(socket.get(), spec.bridge, outside.bridge_address, 24));
  TRY(set_address(socket.get(), inner_gateway, outside.inner_address, gateway_prefix_length));
  TRY(forward_ipv4());
  TRY(set_up(socket.get(), inner_gateway));
  return add_route(socket.get(), "0.0.0.0", 0, outside.outer_address);
}

/// Error: why the job reaches nothing outside; it can do all else.
Result<void> lead_outside(const job::HostSpec& spec, const Fd& bridge, const Env& env) {
  const Outside outside = TRY(open_gateway(spec, bridge.get(), env));
  Result<void> made = route_outside(bridge, spec, outside);
  if (!made) static_cast<void>(close_gateway(spec.bridge, env));
  return made;
}

Result<void> connect_to_bridge(int socket, const job::HostSpec& spec) {
  const std::string cable = cable_name(spec.bridge, spec.host);
  TRY(add_to_bridge(socket, spec.bridge, cable));
  return set_up(socket, cable);
}

/// What a host on a bridge is told of its network.
Result<void> set_addresses(int socket, const job::HostSpec& spec, bool is_outside) {
  TRY(set_address(socket, "eth0", job::own_address(spec), spec.prefix_length));
  TRY(set_up(socket, "eth0"));
  if (!is_outside) return {};
  const Outside outside = TRY(outside_of(spec, {}, false));
  return add_route(socket, "0.0.0.0", 0, outside.bridge_address);
}

bool has_way_outside(const Fd& bridge) {
  const Result<Visit> visit = Visit::begin(bridge.get());
  return visit && ::if_nametoindex(inner_gateway) != 0;
}

/// What `path` opens, if that is a network namespace with the job's bridge: the descriptor that a
/// steward wrote down may have been closed and its number used again. The name of the bridge is
/// random.
Fd bridge_at(const std::string& path, const std::string& bridge) {
  Fd found(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct statfs info {};
  if (!found || ::fstatfs(found.get(), &info) != 0 || info.f_type != NSFS_MAGIC) return {};
  const Result<Visit> visit = Visit::begin(found.get());
  if (!visit || ::if_nametoindex(bridge.c_str()) == 0) return {};
  return found;
}

/// Where the job's stewards write down how others open the bridge's namespace.
std::string holders_file(const job::HostSpec& spec) {
  return spec.job_folder + "/network";
}

struct Joined {
  Fd bridge;
  std::string why_not;  ///< The hosts reach nothing outside, though they should.
};

/// The namespace of the job's bridge, as a descriptor that this process has written down for the
/// stewards that come later.
Result<Joined> join_bridge(const job::HostSpec& spec, const Env& env) {
  const std::string file = holders_file(spec);
  const Fd lock = TRY(wait_for_lock(file + ".lock"));
  const Result<std::string> text = read_file(file);
  if (!text && text.error().code != Errc::not_found) return text.error();
  Fd bridge;
  std::string why_not;
  for (const std::string& path : split(text.value_or(""), '\n'))
    if (!bridge && !path.empty()) bridge = bridge_at(path, spec.bridge);
  if (!bridge) {
    bridge = TRY(namespace_with_bridge(spec, env));
    Result<void> led;
    if (spec.spec.network == job::Network::nat) led = lead_outside(spec, bridge, env);
    if (!led) why_not = led.error().text;
  }
  TRY(write_file(file, text.value_or("") + path_of(bridge) + "\n", 0600));
  return Joined{std::move(bridge), std::move(why_not)};
}

}  // namespace

std::string path_of(const Fd& fd) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get());
}

Result<HostNetwork> HostNetwork::open(const job::HostSpec& spec, Fd host, const IdMap& ids,
                                      const Env& env) {
  {
    // Hosts have IPv4 alone, and ::1: before there is an interface that could have more.
    const Visit visit = TRY(Visit::begin(host.get()));
    TRY(disable_ipv6("default"));
  }
  Joined joined = TRY(join_bridge(spec, env));
  HostNetwork network(std::move(host), std::move(joined.bridge));
  network.outside_ = spec.spec.network == job::Network::nat && has_way_outside(network.bridge_);
  network.why_not_ = std::move(joined.why_not);
  network.cipher_ = TRY(cipher_of(spec));
  {
    const Visit visit = TRY(Visit::begin(network.bridge_.get()));
    const Fd socket = TRY(any_socket());
    const std::string cable = cable_name(spec.bridge, spec.host);
    TRY(make_cable(cable, host_cable(network.cipher_), network.namespace_.get()));
    if (network.cipher_) TRY(set_mtu(socket.get(), cable, cable_mtu));
    TRY(is_routed(spec) ? connect_to_router(socket.get(), spec)
                        : connect_to_bridge(socket.get(), spec));
  }
  const Visit visit = TRY(Visit::begin(network.namespace_.get()));
  const Fd socket = TRY(any_socket());
  TRY(set_up(socket.get(), "lo"));
  if (network.cipher_)
    network.tunnel_ = TRY(open_tunnel(spec, *network.cipher_, network.outside_, ids, env));
  else
    TRY(spec.spec.vpc ? connect_host(socket.get(), spec, network.outside_)
                      : set_addresses(socket.get(), spec, network.outside_));
  return network;
}

Result<void> HostNetwork::close(const job::HostSpec& spec, const Env& env) {
  const Fd lock = TRY(wait_for_lock(holders_file(spec) + ".lock"));
  bridge_.reset();
  for (const std::string& path : split(read_file(holders_file(spec)).value_or(""), '\n'))
    if (!path.empty() && bridge_at(path, spec.bridge)) return {};
  return close_gateway(spec.bridge, env);
}

Result<Fd> HostNetwork::bind(const std::string& host_address, std::uint16_t port, int type) const {
  const Visit visit = TRY(Visit::begin(namespace_.get()));
  Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
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
  const bool waits = type != SOCK_STREAM || (bound && ::listen(socket.get(), SOMAXCONN) == 0);
  if (bound && waits) return socket;
  return fail_errno(host_address + ":" + std::to_string(port) + " of the host");
}

Result<Fd> HostNetwork::listen(const std::string& address, std::uint16_t port) const {
  return bind(address, port, SOCK_STREAM);
}

Result<Fd> HostNetwork::take_datagrams(const std::string& address, std::uint16_t port) const {
  return bind(address, port, SOCK_DGRAM);
}

Result<std::optional<Doorway>> doorway(const job::S3Access& access) {
  if (access.endpoint.empty()) return std::optional<Doorway>();
  const http::Url url = TRY(http::parse_url(access.endpoint));
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
  return path_of(namespace_);
}

std::string cable_name(const std::string& bridge, const std::string& host) {
  const std::size_t dash = host.rfind('-');
  return bridge + "-" + host.substr(dash == std::string::npos ? 0 : dash + 1);
}

}  // namespace muster::container
