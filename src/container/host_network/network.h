#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "job/host_spec.h"

namespace muster::container {

/// A host's network: a separate namespace whose `eth0` is connected to the job's bridge or, in a
/// VPC, to the router that replaces the bridge (container/host_network/segment.h).
///
/// The bridge is in an otherwise empty namespace, one per job: no address or socket of the machine,
/// and no host of another job, can be reached over it, whatever a host binds or forges. The
/// descriptors of the job's stewards keep it alive; it disappears with the last of them, together
/// with its veth pairs. On the machine, only the gateway of a job with outside access is visible
/// (container/host_network/gateway.h).
class HostNetwork {
 public:
  /// Joins the job's bridge, or creates it if no living steward of the job has one. `host` is the
  /// host's own namespace. Uses separate threads to enter the namespaces. Stewards find each other
  /// through `<job folder>/network` (docs/protocols/job-folder.md). Errors: `denied` without root,
  /// `system`.
  static Result<HostNetwork> open(const job::HostSpec& spec, Fd host, const Env& env);
  /// For job::Network::nat: true if the hosts can reach the outside. Otherwise, why_not() returns
  /// the reason, in the steward that tried to connect them.
  bool leads_outside() const { return outside_; }
  const std::string& why_not() const { return why_not_; }
  /// Leaves the job's bridge; the last steward also removes the gateway. Error: `system`; a sweep
  /// then has to remove it.
  Result<void> close(const job::HostSpec& spec, const Env& env);

  /// Listens in the host's network at `address` (numeric IPv4), which is added to the host's
  /// loopback interface if necessary. Error: `system`: a process in the host already listens there.
  Result<Fd> listen(const std::string& address, std::uint16_t port) const;
  /// Binds a datagram socket in the same way.
  Result<Fd> take_datagrams(const std::string& address, std::uint16_t port) const;
  /// A path to the host's namespace, valid while this process lives: "/proc/<pid>/fd/<n>".
  std::string path() const;

 private:
  Result<Fd> bind(const std::string& address, std::uint16_t port, int type) const;

  HostNetwork(Fd host, Fd bridge) : namespace_(std::move(host)), bridge_(std::move(bridge)) {}

  Fd namespace_;
  Fd bridge_;  ///< The bridge's namespace.
  Fd slirp_;   ///< Only without root: see start_slirp().
  bool outside_ = false;
  std::string why_not_;
};

/// A path with which other processes can open `fd` too, while this process lives and keeps it open.
std::string path_of(const Fd& fd);

/// A host reaches a server outside its isolated network with the server's own URL, through a relay
/// that listens in the host.
struct Doorway {
  std::string address;  ///< The relay's address in the host, numeric IPv4.
  std::uint16_t port = 0;
  std::string name;  ///< Resolves to `address` in the host; empty: clients use the address.
  std::string host;  ///< The server's name or address on the machine's network.

  bool operator==(const Doorway&) const = default;
};
/// The relay to the job's S3; none for Amazon's own S3 and for IPv6 addresses. Pure. Error:
/// `invalid_input`: the endpoint is not a URL.
Result<std::optional<Doorway>> doorway(const job::S3Access& access);

/// "<bridge>-K" for algo-K.
std::string cable_name(const std::string& bridge, const std::string& host);

}  // namespace muster::container
