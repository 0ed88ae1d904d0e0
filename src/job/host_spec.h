#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/host_devices.h"
#include "job/spec.h"

namespace muster::job {

struct HostAddress {
  std::string name;     ///< "algo-K"
  std::string address;  ///< IPv4, numeric.

  bool operator==(const HostAddress&) const = default;
};

/// User and group ids of the machine that belong to a job's hosts: this many, from
/// HostSpec::first_id on. Ids below the least are the machine's own; some programs fail with ids
/// beyond 2^31.
inline constexpr std::int64_t ids_per_job = 65536;
inline constexpr std::int64_t first_id_min = ids_per_job;
inline constexpr std::int64_t first_id_max = (std::int64_t{1} << 31) - ids_per_job;

/// Holds the control groups of all hosts of a machine, as "/muster/<job>.<tag>/algo-K" (see
/// machine_name()): stewards make them, and what a host uses is read there.
inline constexpr const char* jobs_cgroup = "/muster";
/// The most memory that a steward may allocate, and likewise the upload of a job's results.
inline constexpr std::int64_t steward_memory_max = std::int64_t{256} << 20;

/// In a job's environment: `numa_off`, or NearGpus::ranks from the host's steward.
inline constexpr const char* numa_variable = "MUSTER_NUMA";
inline constexpr const char* numa_off = "off";

/// Where a host is next to its GPUs (os/devices/numa.h), as text.
struct NearGpus {
  std::string cpus{};   ///< "0-15"; empty: the host stays where it is.
  std::string nodes{};  ///< "0", those of its GPUs.
  std::string ranks{};  ///< For each GPU its node and the processors there: "0:0-15 1:16-31".
  std::string note{};   ///< For people; empty: nothing to say.

  bool operator==(const NearGpus&) const = default;
};

/// What one steward of this machine needs to run one host of a job: the message from the local
/// engine to its stewards, in a file of mode 0600 (docs/protocols/steward.md). No other component
/// uses it.
struct HostSpec {
  Spec spec;
  std::string host;                ///< "algo-K", one of `hosts`.
  std::vector<HostAddress> hosts;  ///< All of the job, in SageMaker's sorted order.
  /// No container: the machine's network, users and programs, but separate mounts and processes
  /// (docs/decisions/0048-light-hosts.md). `bridge`, `machine_subnet` and `first_id` are not used.
  bool light = false;
  /// A container of a scheduler's step: on the machine's own network, and in a control group below
  /// its steward's, so that the scheduler's limits hold. `bridge` and `machine_subnet` mean
  /// nothing.
  bool in_step = false;
  int rollcall_port = 9730;  ///< On the leader; jobs that share a network need one each.
  /// The network interface that leads to the other hosts. Empty: "eth0", or on the machine's own
  /// network the interface that has the host's address.
  std::string interface;
  std::string bridge;  ///< "mu" + 8 hex digits, one per job on this machine.
  int prefix_length = 24;
  /// The job's network among the machine's, "10.177.3.0/24". Hosts in a VPC have these addresses
  /// outside of it. Empty: the hosts' addresses are on this network.
  std::string machine_subnet;
  std::int64_t first_id = 0;  ///< The machine's number of a host's root; 0: it is root's own.
  std::string state_folder;   ///< muster's state on this machine (hidden from the host).
  std::string job_folder;     ///< <state>/jobs/<job>
  std::string host_folder;    ///< <state>/jobs/<job>/algo-K: journal, control.sock, result/, ...
  std::string key_file;       ///< The job's key, mode 0600; 32 bytes.
  /// The byte of the host's journal where this attempt's records begin.
  std::int64_t journal_from = 0;
  HostDevices devices;  ///< Given to this host.
  NearGpus near;        ///< The steward finds it itself: it is no part of the message.

  bool operator==(const HostSpec&) const = default;
};

/// True for a host on its machine's own network.
bool shares_network(const HostSpec& spec);

/// The address of `spec.host`. `spec` is one that check() accepts.
const std::string& own_address(const HostSpec& spec);

/// Where the machine sees `spec.host`: its own address, or in a VPC that of its number in
/// machine_subnet. No two jobs of a machine have the same.
std::string machine_address(const HostSpec& spec);

/// Validates the spec and names the invalid field; check(Spec) validates the job's part. Error:
/// `invalid_input`.
Result<void> check(const HostSpec& spec);

Json to_json(const HostSpec& spec);
/// Checked as check() does. Error: `invalid_input`, naming the field.
Result<HostSpec> host_spec_from(const Json& json);

}  // namespace muster::job
