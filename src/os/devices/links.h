#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

// Pure: whether the links of GPUs, and the network ports next to them, are up and as fast as the
// others.

namespace muster::devices {

/// Prints the state of each NVLink of each card.
Args nvlink_command();
/// Remarks on the NVLinks of a card, by the driver tool's number of it: "2 of 18 NVLinks are down".
/// Empty for cards without NVLink, and for those on which no link is up: they are not connected.
/// `text`: what nvlink_command() printed.
std::map<int, std::vector<std::string>> nvlink_remarks(std::string_view text);

/// A port of an InfiniBand or RoCE adapter, as its files in /sys/class/infiniband describe it.
/// Source: Documentation/ABI/stable/sysfs-class-infiniband.
struct RdmaPort {
  std::string name;      ///< "mlx5_0/1"
  std::string model;     ///< Link layer and board: only ports of one model are compared.
  std::string state;     ///< "4: ACTIVE"
  std::string physical;  ///< "5: LinkUp"
  std::string rate;      ///< "400 Gb/sec (4X NDR)"
};
/// "mlx5_1/1 is down (Polling)", "mlx5_3/1 runs at 200 Gb/sec (2X NDR), others at 400 Gb/sec (4X
/// NDR)". Ports that an operator disabled are left out.
std::vector<std::string> rdma_remarks(const std::vector<RdmaPort>& ports);
/// The ports that are up: "8 x 400 Gb/sec (4X NDR)". Empty: none.
std::string rdma_summary(const std::vector<RdmaPort>& ports);

/// Why GPUs and network adapters cannot exchange data directly; empty if they can. That takes the
/// module nvidia_peermem or, with DMA-BUF, NVIDIA's open kernel modules from version 515 on and
/// Linux 5.12.
/// `driver`: the text of /proc/driver/nvidia/version. `kernel`: the kernel's release.
/// Source: docs.nvidia.com/cuda/gpudirect-rdma, "Supported systems", read 2026-11-27.
std::string direct_access_trouble(bool has_peermem, std::string_view driver,
                                  const std::string& kernel);

/// The version of the driver's library among the names in a folder: "580.159.04" for
/// libcuda.so.580.159.04. Empty: none has one.
std::string cuda_library_version(const std::vector<std::string>& names);

}  // namespace muster::devices
