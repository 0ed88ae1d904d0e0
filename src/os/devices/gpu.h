#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/devices/cdi.h"

// Pure: the GPUs of a machine, out of what its files say.

namespace muster::devices {

/// One that a host can have to itself: a whole card, or a part that the vendor's tool made.
struct Gpu {
  std::string name;  ///< "nvidia.com/gpu=0"; "/dev/nvidia0" without a CDI file.
  std::string kind;  ///< "nvidia.com/gpu"
  Edits own;
  Edits common;        ///< Together with others of the file.
  std::string uuid{};  ///< "MIG-…", of a part of a card; may be unknown.

  /// The device files, sorted, or its name if it has none of its own: equal lists mean the same
  /// GPU, under any name.
  std::vector<std::string> files() const;
  /// The vendor's number of it; none if its name has no number.
  std::optional<std::int64_t> number() const;
};

/// A CDI file as it was found.
struct FoundFile {
  std::string path;
  int priority = 0;  ///< The folder's priority: a device with a higher one takes precedence.
  CdiFile file;
};

/// The GPUs of these numbers, in their order: the vendor's, or where its names have none those of
/// device files. Error: `invalid_input` for one that is not there.
Result<std::vector<Gpu>> numbered(const std::vector<Gpu>& gpus, const std::vector<int>& numbers);

/// The machine's GPUs by number and name, each once: other names of one (its UUID) and names for
/// several ("all") are left out. Error: `invalid_input` for a name in two files of one folder.
Result<std::vector<Gpu>> gpus_in(const std::vector<FoundFile>& files);

/// NVIDIA's without a CDI file, by the names in /dev, which lies at `folder`.
std::vector<Gpu> plain_gpus(const std::vector<std::string>& names, const std::string& folder);

/// The driver's libraries in the answer of `ldconfig -p`, those of x86-64: name and path.
/// Source: the libraries of compute and utility in NVIDIA's libnvidia-container.
std::vector<std::pair<std::string, std::string>> driver_libraries(std::string_view cache);

/// What a host of these gets, but for the numbers of its nodes; with parts of cards alone also the
/// variables by which CUDA finds them, for it does not count them itself. Error: `invalid_input`
/// where two of them want different devices at one place.
Result<job::HostDevices> given(const std::vector<Gpu>& gpus);

}  // namespace muster::devices
