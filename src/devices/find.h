#pragma once

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
};

/// The CDI folders that MUSTER_CDI_FOLDERS of the program's own environment names, separated by
/// ':', else the specification's: /etc/cdi, /var/run/cdi.
Places places_of(const Env& env);

/// The machine's GPUs: those of CDI files (*.json, *.yaml), where there are none NVIDIA's plain
/// device files. Folders and files must be root's, and nobody else may write to them: what they say
/// is done by root. Errors: `denied` for such a file; `invalid_input`, with the file's name;
/// `system`.
Result<std::vector<Gpu>> find_gpus(const Places& places);

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

}  // namespace muster::devices
