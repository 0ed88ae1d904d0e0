#pragma once

#include <cstdint>
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

  /// Listens on the loopback address of the host's own network. The calling thread visits it and
  /// comes back. Error: `system`: somebody in there listens on it already.
  Result<Fd> listen(std::uint16_t port) const;
  /// Opens the namespace while this process lives: "/proc/<pid>/fd/<n>".
  std::string path() const;

 private:
  HostNetwork(Fd name_space, std::string cable)
      : namespace_(std::move(name_space)), cable_(std::move(cable)) {}

  Fd namespace_;
  std::string cable_;  ///< Empty once moved from.
};

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
