#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/json.h"
#include "base/result.h"

// Pure: devices of the machine that one host is given, and what its programs need beside them. The
// engine decides on them, from the machine's own files; nothing of it comes from who asks for a
// job.

namespace muster::job {

/// A character device of the machine. Reading and writing, nothing else.
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

/// Where hosts find the libraries of a GPU's driver, beside the folders of an image's own.
inline constexpr const char* driver_libraries_path = "/run/muster/gpu/lib";

/// Device nodes below /dev and beside those that every host has, files nowhere that is muster's or
/// the kernel's. Error: `invalid_input`.
Result<void> check(const HostDevices& devices);
/// True for an absolute path without "//", "." and "..".
bool is_plain_path(std::string_view path);

Json to_json(const HostDevices& devices);
/// Not checked. Error: `invalid_input`.
Result<HostDevices> host_devices_from(const Json& json);

}  // namespace muster::job
