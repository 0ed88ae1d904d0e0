#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/host_devices.h"

// Pure: files of the Container Device Interface, by which a vendor's tool says what a container
// needs to use a device. Source: the CDI specification, versions 0.3.0 to 1.1.0.

namespace muster::devices {

/// What a file asks a container to be given. Hooks are no part of it: no program that a file names
/// is run (docs/decisions/0036-gpus.md).
struct Edits {
  struct Node {
    std::string outside{};
    std::string inside{};

    bool operator==(const Node&) const = default;
  };
  std::vector<Node> nodes{};
  std::vector<job::DeviceMount> mounts{};
  Env environment{};

  bool operator==(const Edits&) const = default;
};

struct CdiDevice {
  std::string name;  ///< "0"
  Edits edits;
};

struct CdiFile {
  std::string kind;  ///< "nvidia.com/gpu"
  Edits edits;       ///< For a container that gets any of its devices.
  std::vector<CdiDevice> devices;
};

/// True for kinds whose class is "gpu".
bool is_gpu_kind(std::string_view kind);

/// Reads one file, as YAML if its name ends so, else as JSON. Parts that need no action (user ids,
/// file modes, groups, cache settings, hooks) are ignored. Error: `invalid_input`, naming the
/// field: also for features that muster does not support (block devices, read-only devices, new
/// file systems, paths that every host has).
Result<CdiFile> read_cdi(std::string_view name, std::string_view text);

}  // namespace muster::devices
