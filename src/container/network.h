#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "job/spec.h"

namespace muster::container {

/// A host's network: a namespace of its own, its `eth0`, the job's bridge. It lives as long as
/// this object and the processes in it; the bridge's end of the cable goes with it.
///
/// Names on the machine: bridge `mu` + 8 hex digits, cables `<bridge>-K`. A bridge's alias says
/// whose it is ("muster <job folder>"), so that a sweep touches nobody else's.
class HostNetwork {
 public:
  HostNetwork(HostNetwork&& other) noexcept = default;
  HostNetwork& operator=(HostNetwork&&) = delete;
  ~HostNetwork();

  /// Makes the namespace, the cable and, if no host of the job did yet, the bridge. The calling
  /// thread visits the new namespace and comes back. Errors: `denied` without root, `system`.
  static Result<HostNetwork> open(const job::HostSpec& spec);

  /// Listens inside of the host's own network, at `address` (numeric IPv4), which becomes one of
  /// its loopback interface's if it is none yet. The calling thread visits it and comes back.
  /// Error: `system`: somebody in there listens on it already.
  Result<Fd> listen(const std::string& address, std::uint16_t port) const;
  /// Opens the namespace while this process lives: "/proc/<pid>/fd/<n>".
  std::string path() const;

 private:
  HostNetwork(Fd name_space, std::string cable)
      : namespace_(std::move(name_space)), cable_(std::move(cable)) {}

  Fd namespace_;
  std::string cable_;  ///< Empty once moved from.
};

/// How a host reaches a server outside of its own network, which leads nowhere: by the same URL,
/// through a relay that listens inside.
struct Doorway {
  std::string address;  ///< Where to listen inside, numeric IPv4.
  std::uint16_t port = 0;
  std::string name;  ///< That leads to `address` inside; empty: clients use the address.
  std::string host;  ///< Where the server is on the machine's network: a name or an address.

  bool operator==(const Doorway&) const = default;
};
/// To the job's S3. None for Amazon's own, and for an IPv6 address. Pure.
/// Error: `invalid_input`: the endpoint is no URL.
Result<std::optional<Doorway>> doorway(const job::S3Access& access);

/// "<bridge>-K", where K is the host's number.
std::string cable_name(const job::HostSpec& spec);
/// Removes an interface of the machine; fine if there is none.
Result<void> remove_interface(const std::string& name);
/// Removes the bridge if no cable hangs on it. Callers hold the job's lock (steward/folders.h).
void remove_idle_bridge(const std::string& bridge);

/// An interface that muster made, as a sweep finds it.
struct OwnInterface {
  std::string name;
  std::string job_folder;  ///< From the alias; empty if that was never set.
};
/// Bridges and cables by the names above. Bridges come last.
std::vector<OwnInterface> own_interfaces();

}  // namespace muster::container
