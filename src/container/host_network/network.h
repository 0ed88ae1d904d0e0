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
/// The bridge is in an otherwise empty namespace, one per job: no address, socket or other job's
/// cable of the machine can be reached over it, whatever a host binds or forges. The descriptors of
/// the job's stewards hold it; it disappears with the last of them, with its cables. On the
/// machine, only the gateway of a job with outside access is visible
/// (container/host_network/gateway.h).
class HostNetwork {
 public:
  /// Joins the job's bridge, or makes it if no living steward of the job holds one; `host` is the
  /// host's own namespace. Threads of its own visit the namespaces. Stewards find each
  /// other by `<job folder>/network` (docs/protocols/job-folder.md). Errors: `denied` without root,
  /// `system`.
  static Result<HostNetwork> open(const job::HostSpec& spec, Fd host, const Env& env);
  /// For job::Network::nat: true if the hosts reach the outside; else why_not() says why, where
  /// this steward is the one that tried.
  bool leads_outside() const { return outside_; }
  const std::string& why_not() const { return why_not_; }
  /// Leaves the job's bridge; the last one takes the way outside along. Error: `system`: a sweep
  /// has to.
  Result<void> close(const job::HostSpec& spec, const Env& env);

  /// Listens inside the host's own network, at `address` (numeric IPv4), which is added to its
  /// loopback interface if needed. Error: `system`: a process in there already listens on it.
  Result<Fd> listen(const std::string& address, std::uint16_t port) const;
  /// Binds a datagram socket in the same way.
  Result<Fd> take_datagrams(const std::string& address, std::uint16_t port) const;
  /// Opens the host's namespace while this process lives: "/proc/<pid>/fd/<n>".
  std::string path() const;

 private:
  Result<Fd> bind(const std::string& address, std::uint16_t port, int type) const;

  HostNetwork(Fd host, Fd bridge) : namespace_(std::move(host)), bridge_(std::move(bridge)) {}

  Fd namespace_;
  Fd bridge_;  ///< The bridge's namespace.
  Fd slirp_;   ///< An ordinary user's: see start_slirp().
  bool outside_ = false;
  std::string why_not_;
};

/// Opens what `fd` does, for other processes too, while this one lives and keeps it.
std::string path_of(const Fd& fd);

/// How a host reaches a server outside of its isolated network: by the same URL, through a relay
/// that listens inside.
struct Doorway {
  std::string address;  ///< Where to listen inside, numeric IPv4.
  std::uint16_t port = 0;
  std::string name;  ///< Leads to `address` inside; empty: clients use the address.
  std::string host;  ///< Where the server is on the machine's network: a name or an address.

  bool operator==(const Doorway&) const = default;
};
/// The doorway to the job's S3. None for Amazon's own, and for an IPv6 address. Pure. Error:
/// `invalid_input`: the endpoint is not a URL.
Result<std::optional<Doorway>> doorway(const job::S3Access& access);

/// "<bridge>-K" for algo-K.
std::string cable_name(const std::string& bridge, const std::string& host);

}  // namespace muster::container
