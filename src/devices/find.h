#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "devices/gpu.h"

namespace muster::devices {

/// Where a machine says which devices it has.
struct Places {
  std::vector<std::string> cdi;  ///< Folders; a device in a later one stands.
  std::string dev = "/dev";
  /// True for root of an ordinary user's namespace alone, where the machine's root is nobody.
  bool rootless = false;
  std::string driver = "/proc/driver/nvidia/gpus";
};

/// The CDI folders that MUSTER_CDI_FOLDERS of the program's own environment names, separated by
/// ':', else the specification's: /etc/cdi, /var/run/cdi.
Places places_of(const Env& env);

/// The machine's GPUs: those of CDI files (*.json, *.yaml), where there are none NVIDIA's plain
/// device files. Folders and files must be root's, and nobody else may write to them: what they say
/// is done by root; where that is an ordinary user's, with his rights alone, who of the others they
/// belong to is not known. Errors: `denied` for such a file; `invalid_input`, with the file's name;
/// `system`.
Result<std::vector<Gpu>> find_gpus(const Places& places);

/// The driver's numbers, N of /dev/nvidiaN, by places on the bus (bus_name()), as files
/// `told`/*/information say; none where there are none.
std::map<std::string, int> gpu_places(const std::string& told);

/// GPUs that a scheduler gave to this step of its, by its numbers. Those are places in a list: as
/// the vendor's tool counts, which is by place on the bus. Errors: as find_gpus() and numbered();
/// `denied` for a device file that the step may not open.
Result<std::vector<Gpu>> find_given(const Places& places, const std::vector<int>& numbers);

/// Makes what hosts get complete: the numbers of device nodes, and names of libraries by which
/// programs look for them, where `driver_libraries_path` leads. Error: `system` for a node that is
/// not there or is no character device.
Result<job::HostDevices> complete(job::HostDevices devices);

/// `cache`: the answer of `ldconfig -p`. For GPUs without a CDI file.
void add_driver(job::HostDevices& devices, std::string_view cache);

/// What RDMA needs, where `dev`/infiniband has it; true if it has.
Result<bool> add_infiniband(job::HostDevices& devices, const std::string& dev);

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
