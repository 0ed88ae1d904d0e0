#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "base/time.h"
#include "os/devices/card_health.h"
#include "os/devices/gpu.h"
#include "os/devices/links.h"

namespace muster::devices {

inline constexpr const char* sick_gpus_variable = "MUSTER_SICK_GPUS";  ///< "use": gives_sick.

/// Where a machine says which devices it has.
struct Places {
  std::vector<std::string> cdi;  ///< Folders; a device in a later one takes precedence.
  std::string dev = "/dev";
  /// True only for root of an ordinary user's namespace, where the machine's root is unmapped.
  bool rootless = false;
  std::string driver = "/proc/driver/nvidia/gpus";
  std::string capabilities = "/proc/driver/nvidia/capabilities";  ///< For parts of cards.
  bool gives_sick = false;  ///< Jobs may have cards that their driver calls unfit, too.
};

/// The CDI folders that MUSTER_CDI_FOLDERS of the program's own environment names, separated by
/// ':', else the specification's: /etc/cdi, /var/run/cdi. `gives_sick` where
/// `sick_gpus_variable` is "use".
Places places_of(const Env& env);

/// The machine's GPUs: those of CDI files (*.json, *.yaml) or, without such files, NVIDIA's plain
/// device files, with the parts of cards in place of the cards that have some. Folders and files
/// must belong to root and be writable only by root, because root acts on them; as an ordinary
/// user, with that user's rights alone, other owners cannot be distinguished. Errors: `denied` for
/// a file that others can change; `invalid_input`, with the file's name; `system`.
Result<std::vector<Gpu>> find_gpus(const Places& places);

/// The driver's numbers, N of /dev/nvidiaN, by bus address (bus_name()), from the files
/// `told`/*/information; empty without such files.
std::map<std::string, int> gpu_places(const std::string& told);

/// The numbers in gpu_places() in the order in which the driver's tool counts: by place.
std::vector<int> in_order_of_bus(const std::map<std::string, int>& places);

/// What the driver's tool, on PATH of `env`, says within `limit` about the machine's cards and
/// their NVLinks. Blocks. Errors: `not_found`: no tool, or no answer; card_health_in()'s.
Result<std::vector<CardHealth>> ask_cards(const Env& env, const Places& places, Duration limit);

/// The machine's InfiniBand and RoCE ports. `folder`: /sys/class/infiniband.
std::vector<RdmaPort> rdma_ports(const std::string& folder = "/sys/class/infiniband");
/// rdma_remarks() on them, and why GPUs cannot use them directly. `kernel`: its release.
std::vector<std::string> rdma_troubles(const std::vector<RdmaPort>& ports,
                                       const std::string& kernel);

/// GPUs that a scheduler gave to this step of its, by its numbers. Those are places in a list: as
/// the vendor's tool counts, which is by place on the bus. Errors: as find_gpus() and numbered();
/// `denied` for a device file that the step may not open.
Result<std::vector<Gpu>> find_given(const Places& places, const std::vector<int>& numbers);

/// Completes what hosts get: the numbers of device nodes, and the names of libraries by which
/// programs search for them at `driver_libraries_path`. Error: `system` for a node that is missing
/// or not a character device.
Result<job::HostDevices> complete(job::HostDevices devices);

/// `cache`: the answer of `ldconfig -p`. For GPUs without a CDI file.
void add_driver(job::HostDevices& devices, std::string_view cache);

/// What RDMA needs, as far as `dev` has it: nodes of infiniband, and gdrdrv, by which copies
/// between a GPU and the host's memory are short. Returns what it added, for people.
std::vector<std::string> add_rdma(job::HostDevices& devices, const std::string& dev);

/// Lines on nodes that hosts cannot open by their mode.
std::vector<std::string> closed_nodes(const job::HostDevices& devices);

/// What a host gets with its GPUs, and a line for people on that.
struct Handed {
  job::HostDevices devices;
  std::string line;  ///< Begins with `host`.
};
/// `library_cache`: the answer of `ldconfig -p`. Errors: as given() and complete().
Result<Handed> hand_over(const std::string& host, const std::vector<Gpu>& gpus,
                         const Places& places, std::string_view library_cache);

}  // namespace muster::devices
