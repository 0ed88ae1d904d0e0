#include "container/host_network/network.h"

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
#include <optional>
#include <thread>
#include <type_traits>

#include "base/process/rootless.h"
#include "base/text.h"
#include "container/host_network/gateway.h"
#include "container/host_network/link.h"
#include "container/host_network/nft.h"
#include "container/host_network/segment.h"
#include "container/host_network/slirp.h"
#include "container/id_map.h"
#include "net/http/url.h"

namespace muster::container {
namespace {

constexpr std::string_view loopback_start = "127.";

/// Runs `work` in another network namespace, in a thread that ends there, because a rootless
/// steward can leave the machine's namespace but not return to it.
template <class Work>
std::invoke_result_t<Work> visit(const Fd& name_space, const Work& work) {
  std::optional<std::invoke_result_t<Work>> done;
  std::thread visitor([&] {
    if (::setns(name_space.get(), CLONE_NEWNET) == 0)
      done = work();
    else
      done = fail_errno("cannot enter a network namespace");
  });
  visitor.join();
  return *std::move(done);
}

bool is_link_in(const Fd& name_space, const std::string& name) {
  const Result<bool> found =
      visit(name_space, [&] { return Result<bool>(::if_nametoindex(name.c_str()) != 0); });
  return found && *found;
}

/// A socket in a namespace; requests through it refer to the interfaces of that namespace.
Result<Fd> any_socket() {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno("cannot open a socket");
  return socket;
}

Result<void> make_bridge_here(const job::HostSpec& spec, const Env& env) {
  const Fd socket = TRY(any_socket());
  TRY(disable_ipv6("all"));
  TRY(make_bridge(spec.bridge));
  TRY(set_up(socket.get(), spec.bridge));
  if (!spec.spec.vpc) return {};
  const Result<void> routed = make_router(spec, env);
  return routed ? routed : routed.error().in("VpcConfig");
}

/// In a VPC, nothing is connected to the bridge, but its name identifies the namespace.
Result<Fd> namespace_with_bridge(const job::HostSpec& spec, const Env& env) {
  HostNamespaces alone = TRY(open_namespaces({}));
  TRY(visit(alone.network, [&] { return make_bridge_here(spec, env); }));
  return std::move(alone.network);
}

/// The bridge's namespace becomes the hosts' router.
Result<void> route_outside(const job::HostSpec& spec, const Outside& outside) {
  const Fd socket = TRY(any_socket());
  if (!spec.spec.vpc) TRY(set_address(socket.get(), spec.bridge, outside.bridge_address, 24));
  TRY(set_address(socket.get(), inner_gateway, outside.inner_address, gateway_prefix_length));
  TRY(forward_ipv4());
  TRY(set_up(socket.get(), inner_gateway));
  return add_route(socket.get(), "0.0.0.0", 0, outside.outer_address);
}

/// Loads the rules first: they match interfaces by name, so they apply to interfaces that do not
/// exist yet.
Result<void> route_to_slirp(const job::HostSpec& spec, const std::vector<std::string>& closed,
                            const Env& env) {
  TRY(run_nft(slirp_rules(closed), env));
  const Outside outside = TRY(outside_of(spec, {}, false));
  const Fd socket = TRY(any_socket());
  if (!spec.spec.vpc) TRY(set_address(socket.get(), spec.bridge, outside.bridge_address, 24));
  return forward_ipv4();
}

/// Replaces the gateway without root. Returns the descriptor that keeps slirp4netns running; see
/// start_slirp().
Result<Fd> lead_outside_as_user(const job::HostSpec& spec, const Fd& bridge, const Env& env) {
  const std::vector<std::string> closed = TRY(machine_addresses());
  TRY(visit(bridge, [&] { return route_to_slirp(spec, closed, env); }));
  return start_slirp(bridge, env);
}

/// Error: why the job cannot reach the outside. The job can run nevertheless.
Result<void> lead_outside(const job::HostSpec& spec, const Fd& bridge, const Env& env) {
  const Outside outside = TRY(open_gateway(spec, bridge.get(), env));
  Result<void> made = visit(bridge, [&] { return route_outside(spec, outside); });
  if (!made) static_cast<void>(close_gateway(spec.bridge, env));
  return made;
}

Result<void> connect_to_bridge(int socket, const job::HostSpec& spec) {
  const std::string cable = cable_name(spec.bridge, spec.host);
  TRY(add_to_bridge(socket, spec.bridge, cable));
  return set_up(socket, cable);
}

/// The network settings of a host on a bridge.
Result<void> set_addresses(int socket, const job::HostSpec& spec, bool is_outside) {
  TRY(set_address(socket, "eth0", job::own_address(spec), spec.prefix_length));
  TRY(set_up(socket, "eth0"));
  if (!is_outside) return {};
  const Outside outside = TRY(outside_of(spec, {}, false));
  return add_route(socket, "0.0.0.0", 0, outside.bridge_address);
}

/// Opens `path` if it is a network namespace with the job's bridge. A recorded descriptor may have
/// been closed and its number reused; the name of the bridge is random.
Fd bridge_at(const std::string& path, const std::string& bridge) {
  Fd found(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct statfs info {};
  if (!found || ::fstatfs(found.get(), &info) != 0 || info.f_type != NSFS_MAGIC) return {};
  if (!is_link_in(found, bridge)) return {};
  return found;
}

/// The file in which the job's stewards record how others can open the bridge's namespace.
std::string holders_file(const job::HostSpec& spec) {
  return spec.job_folder + "/network";
}

struct Joined {
  Fd bridge;
  Fd slirp;             ///< Without root: keeps slirp4netns running.
  std::string why_not;  ///< Why the hosts cannot reach the outside, although they should.
};

/// Opens the descriptors of the steward that wrote `line`: the bridge's namespace and, if it
/// exists, the pipe of slirp4netns. Both stay alive until the last steward exits.
Joined join_holder(const std::string& line, const std::string& bridge) {
  const std::vector<std::string> paths = split_words(line);
  Joined joined;
  joined.bridge = bridge_at(paths.front(), bridge);
  if (joined.bridge && paths.size() > 1)
    joined.slirp = Fd(::open(paths[1].c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return joined;
}

Result<void> lead(Joined& joined, const job::HostSpec& spec, const Env& env) {
  if (spec.spec.network != job::Network::nat) return {};
  if (rootless_ids(env) == 0) return lead_outside(spec, joined.bridge, env);
  joined.slirp = TRY(lead_outside_as_user(spec, joined.bridge, env));
  return {};
}

/// The namespace of the job's bridge, as a descriptor that this process has recorded for later
/// stewards.
Result<Joined> join_bridge(const job::HostSpec& spec, const Env& env) {
  const std::string file = holders_file(spec);
  const Fd lock = TRY(wait_for_lock(file + ".lock"));
  const Result<std::string> text = read_file(file);
  if (!text && text.error().code != Errc::not_found) return text.error();
  Joined joined;
  for (const std::string& line : split(text.value_or(""), '\n'))
    if (!joined.bridge && !line.empty()) joined = join_holder(line, spec.bridge);
  if (!joined.bridge) {
    joined.bridge = TRY(namespace_with_bridge(spec, env));
    const Result<void> led = lead(joined, spec, env);
    if (!led) joined.why_not = led.error().text;
  }
  const std::string slirp = joined.slirp ? " " + path_of(joined.slirp) : std::string();
  TRY(write_file(file, text.value_or("") + path_of(joined.bridge) + slirp + "\n", 0600));
  return joined;
}

/// Works in the calling thread's network namespace.
Result<Fd> bind_here(const std::string& host_address, std::uint16_t port, int type) {
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
  return fail_errno("cannot listen on " + host_address + ":" + std::to_string(port) +
                    " in the host");
}

/// Connects the namespace of the job's bridge with that of the host.
Result<void> lay_cable(const job::HostSpec& spec, const Fd& host) {
  const Fd socket = TRY(any_socket());
  const std::string cable = cable_name(spec.bridge, spec.host);
  TRY(make_cable(cable, "eth0", host.get()));
  return spec.spec.vpc ? connect_to_router(socket.get(), spec)
                       : connect_to_bridge(socket.get(), spec);
}

/// Configures the host's end of the connection.
Result<void> connect_here(const job::HostSpec& spec, bool is_outside) {
  const Fd socket = TRY(any_socket());
  TRY(set_up(socket.get(), "lo"));
  return spec.spec.vpc ? connect_host(socket.get(), spec, is_outside)
                       : set_addresses(socket.get(), spec, is_outside);
}

}  // namespace

std::string path_of(const Fd& fd) {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get());
}

Result<HostNetwork> HostNetwork::open(const job::HostSpec& spec, Fd host, const Env& env) {
  // Hosts have only IPv4 and ::1. IPv6 must be disabled before an interface exists.
  TRY(visit(host, [] { return disable_ipv6("default"); }));
  Joined joined = TRY(join_bridge(spec, env));
  HostNetwork network(std::move(host), std::move(joined.bridge));
  network.outside_ =
      spec.spec.network == job::Network::nat && is_link_in(network.bridge_, inner_gateway);
  network.why_not_ = std::move(joined.why_not);
  network.slirp_ = std::move(joined.slirp);
  const Fd& own = network.namespace_;
  TRY(visit(network.bridge_, [&] { return lay_cable(spec, own); }));
  TRY(visit(own, [&] { return connect_here(spec, network.outside_); }));
  return network;
}

Result<void> HostNetwork::close(const job::HostSpec& spec, const Env& env) {
  const Fd lock = TRY(wait_for_lock(holders_file(spec) + ".lock"));
  bridge_.reset();
  slirp_.reset();
  for (const std::string& line : split(read_file(holders_file(spec)).value_or(""), '\n'))
    if (!line.empty() && join_holder(line, spec.bridge).bridge) return {};
  return close_gateway(spec.bridge, env);
}

Result<Fd> HostNetwork::bind(const std::string& host_address, std::uint16_t port, int type) const {
  return visit(namespace_, [&] { return bind_here(host_address, port, type); });
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
