#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"

// Pure: devices of the machine that one host gets, and the files that its programs need for them.
// The engine chooses them from the machine's own files; nothing here comes from the job's request.

namespace muster::job {

/// A character device of the machine. The host may read and write it, nothing else.
struct DeviceNode {
  std::string outside{};   ///< Absolute.
  std::string inside{};    ///< Absolute, below /dev.
  std::int64_t major = 0;  ///< As `outside` had them when it was chosen.
  std::int64_t minor = 0;

  bool operator==(const DeviceNode&) const = default;
};

/// A file or folder of the machine that the device's programs need, read-only.
struct DeviceMount {
  std::string outside{};    ///< Absolute.
  std::string inside{};     ///< Absolute.
  bool image_only = false;  ///< Hosts that see the machine's programs have it where it lies.

  bool operator==(const DeviceMount&) const = default;
};

struct HostDevices {
  std::vector<std::string> gpus{};  ///< Names: "nvidia.com/gpu=0".
  std::vector<DeviceNode> nodes{};
  std::vector<DeviceMount> mounts{};
  Env environment{};
  bool locks_memory = false;  ///< Programs pin memory for devices, without a limit.

  bool operator==(const HostDevices&) const = default;
};

/// Where hosts find the libraries of a GPU's driver, separate from an image's own folders.
inline constexpr const char* driver_libraries_path = "/run/muster/gpu/lib";

/// Device nodes must be below /dev and not among those that every host has; files must not be in
/// folders of muster or the kernel. Error: `invalid_input`.
Result<void> check(const HostDevices& devices);
/// True for an absolute path without "//", "." and "..".
bool is_plain_path(std::string_view path);

Json to_json(const HostDevices& devices);
/// Not checked. Error: `invalid_input`.
Result<HostDevices> host_devices_from(const Json& json);

}  // namespace muster::job
