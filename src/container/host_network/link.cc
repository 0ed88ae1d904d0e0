#include "container/host_network/link.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "container/kernel_file.h"

namespace muster::container {
namespace {

/// A netlink request that is being built: header, link header, attributes (which may be nested).
class Request {
 public:
  Request(std::uint16_t type, std::uint16_t flags) {
    append(nlmsghdr{0, type, static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags), 1, 0});
    append(ifinfomsg{});
  }

  template <class Value>
  void append(const Value& value) {
    std::array<char, sizeof(Value)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(Value));
    bytes_.append(bytes.data(), bytes.size());
    pad();
  }
  void attribute(int type, std::string_view value) {
    append(rtattr{static_cast<std::uint16_t>(sizeof(rtattr) + value.size()),
                  static_cast<std::uint16_t>(type)});
    bytes_ += value;
    pad();
  }
  /// A name with its NUL, as the kernel expects.
  void text(int type, const std::string& value) {
    attribute(type, std::string_view(value.c_str(), value.size() + 1));
  }
  std::size_t begin(int type) {
    const std::size_t at = bytes_.size();
    append(rtattr{0, static_cast<std::uint16_t>(type)});
    return at;
  }
  void end(std::size_t at) {
    const std::uint16_t length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof(length));
  }
  /// Sends the request and reads the kernel's response: 0 or an errno.
  Result<int> send();

 private:
  void pad() { bytes_.resize((bytes_.size() + 3) & ~std::size_t{3}); }
  std::string bytes_;
};

Result<int> Request::send() {
  const std::uint32_t length = static_cast<std::uint32_t>(bytes_.size());
  std::memcpy(bytes_.data(), &length, sizeof(length));
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return fail_errno("netlink: cannot open a socket");
  if (::send(socket.get(), bytes_.data(), bytes_.size(), 0) < 0)
    return fail_errno("netlink: cannot send a request");
  std::array<char, 8192> answer;
  const ssize_t count = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (count < 0) return fail_errno("netlink: cannot receive the response");
  struct {
    nlmsghdr header;
    int error;
  } reply{};
  if (static_cast<std::size_t>(count) < sizeof(reply))
    return fail(Errc::system, "netlink: truncated response");
  std::memcpy(&reply, answer.data(), sizeof(reply));
  if (reply.header.nlmsg_type != NLMSG_ERROR)
    return fail(Errc::system, "netlink: unexpected type of response");
  return -reply.error;
}

Result<void> outcome(const Result<int>& sent, const std::string& what) {
  if (!sent) return sent.error().in(what);
  if (*sent == 0) return {};
  errno = *sent;
  return fail_errno(what);
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::memcpy(request.ifr_name, name.data(), std::min(name.size(), sizeof(request.ifr_name) - 1));
  return request;
}

sockaddr inet(in_addr address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr = address;
  sockaddr any{};
  std::memcpy(&any, &in, sizeof(any));
  return any;
}

in_addr mask_of(int prefix_length) {
  return {prefix_length == 0 ? 0 : htonl(~std::uint32_t{0} << (32 - prefix_length))};
}

Result<in_addr> parse_address(const std::string& text) {
  in_addr parsed{};
  if (::inet_pton(AF_INET, text.c_str(), &parsed) == 1) return parsed;
  return fail(Errc::invalid_input, "not an IPv4 address: " + text);
}

Result<rtentry> route_to(const std::string& destination, int prefix_length) {
  rtentry route{};
  route.rt_dst = inet(TRY(parse_address(destination)));
  route.rt_genmask = inet(mask_of(prefix_length));
  route.rt_flags = RTF_UP;
  return route;
}

}  // namespace

Result<void> make_cable(const std::string& name, const std::string& peer, int namespace_fd) {
  Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  request.text(IFLA_IFNAME, name);
  const std::size_t info = request.begin(IFLA_LINKINFO);
  request.attribute(IFLA_INFO_KIND, "veth");
  const std::size_t data = request.begin(IFLA_INFO_DATA);
  const std::size_t other = request.begin(VETH_INFO_PEER);
  request.append(ifinfomsg{});
  request.text(IFLA_IFNAME, peer);
  const std::uint32_t number = static_cast<std::uint32_t>(namespace_fd);
  std::array<char, sizeof(number)> bytes;
  std::memcpy(bytes.data(), &number, sizeof(number));
  request.attribute(IFLA_NET_NS_FD, std::string_view(bytes.data(), bytes.size()));
  request.end(other);
  request.end(data);
  request.end(info);
  return outcome(request.send(), "cannot create virtual cable " + name);
}

Result<void> make_bridge(const std::string& name) {
  Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  request.text(IFLA_IFNAME, name);
  const std::size_t info = request.begin(IFLA_LINKINFO);
  request.attribute(IFLA_INFO_KIND, "bridge");
  request.end(info);
  return outcome(request.send(), "cannot create bridge " + name);
}

Result<void> remove_link(const std::string& name) {
  Request request(RTM_DELLINK, 0);
  request.text(IFLA_IFNAME, name);
  const Result<int> sent = request.send();
  if (sent && *sent == ENODEV) return {};
  return outcome(sent, "cannot remove interface " + name);
}

Result<void> add_to_bridge(int socket, const std::string& bridge, const std::string& name) {
  ifreq request = request_for(bridge);
  request.ifr_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
  if (::ioctl(socket, SIOCBRADDIF, &request) != 0)
    return fail_errno("cannot add " + name + " to bridge " + bridge);
  return {};
}

Result<void> set_up(int socket, const std::string& name) {
  ifreq request = request_for(name);
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0)
    return fail_errno("cannot read the state of interface " + name);
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  if (::ioctl(socket, SIOCSIFFLAGS, &request) != 0)
    return fail_errno("cannot bring up interface " + name);
  return {};
}

Result<void> set_address(int socket, const std::string& name, const std::string& address,
                         int prefix_length) {
  const in_addr parsed = TRY(parse_address(address));
  ifreq request = request_for(name);
  request.ifr_addr = inet(parsed);
  if (::ioctl(socket, SIOCSIFADDR, &request) != 0)
    return fail_errno("cannot set address " + address + " on interface " + name);
  request.ifr_netmask = inet(mask_of(prefix_length));
  if (::ioctl(socket, SIOCSIFNETMASK, &request) != 0)
    return fail_errno("cannot set the netmask of interface " + name);
  return {};
}

Result<void> add_route(int socket, const std::string& destination, int prefix_length,
                       const std::string& gateway) {
  rtentry route = TRY(route_to(destination, prefix_length));
  route.rt_gateway = inet(TRY(parse_address(gateway)));
  route.rt_flags |= RTF_GATEWAY;
  if (::ioctl(socket, SIOCADDRT, &route) != 0)
    return fail_errno("cannot add a route through " + gateway);
  return {};
}

Result<void> add_neighbour(int socket, const std::string& address, const std::string& name) {
  rtentry route = TRY(route_to(address, 32));
  route.rt_flags |= RTF_HOST;
  std::string device = name;  // The kernel's structure requires a non-const name.
  route.rt_dev = device.data();
  if (::ioctl(socket, SIOCADDRT, &route) != 0)
    return fail_errno("cannot add a route to " + address);
  return {};
}

Result<void> remove_own_route(int socket, const std::string& network, int prefix_length,
                              const std::string& name) {
  rtentry route = TRY(route_to(network, prefix_length));
  std::string device = name;
  route.rt_dev = device.data();
  if (::ioctl(socket, SIOCDELRT, &route) != 0)
    return fail_errno("cannot remove the route to " + network);
  return {};
}

Result<void> disable_ipv6(const std::string& name) {
  const std::string setting = "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6";
  return ::access(setting.c_str(), F_OK) == 0 ? tell_kernel(setting, "1") : Result<void>();
}

Result<void> forward_ipv4() {
  return tell_kernel("/proc/sys/net/ipv4/ip_forward", "1");
}

}  // namespace muster::container
