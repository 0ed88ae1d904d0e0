#include "os/devices/gpu.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr std::string_view plain_kind = "nvidia.com/gpu";
constexpr std::array common_nodes = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                     "nvidia-modeset"};
constexpr std::array library_starts = {"libcuda.so.", "libcudadebugger.so.", "libnvcuvid.so.",
                                       "libnvidia-", "libnvoptix.so."};

/// True if `files` has all of `others`, and more.
bool is_more(const std::vector<std::string>& files, const std::vector<std::string>& others) {
  return files.size() > others.size() &&
         std::includes(files.begin(), files.end(), others.begin(), others.end());
}

/// Numbers before names, in their order.
bool comes_before(const Gpu& a, const Gpu& b) {
  const auto key = [](const Gpu& gpu) {
    const std::optional<std::int64_t> number = gpu.number();
    return std::make_tuple(gpu.kind, !number, number.value_or(0), gpu.name);
  };
  return key(a) < key(b);
}

/// The part's UUID, if that is its name.
std::string uuid_of(const Gpu& gpu) {
  const std::string name = gpu.name.substr(gpu.name.find('=') + 1);
  return name.starts_with("MIG-") ? name : "";
}

std::vector<Gpu> each_once(std::vector<Gpu> gpus) {
  std::sort(gpus.begin(), gpus.end(), comes_before);
  std::vector<Gpu> kept;
  for (Gpu& gpu : gpus) {
    const std::vector<std::string> files = gpu.files();
    const auto same = std::find_if(kept.begin(), kept.end(),
                                   [&](const Gpu& other) { return other.files() == files; });
    const bool is_other_name = same != kept.end();
    gpu.uuid = uuid_of(gpu);
    if (is_other_name && same->uuid.empty()) same->uuid = gpu.uuid;
    const bool is_several = std::any_of(
        gpus.begin(), gpus.end(), [&](const Gpu& other) { return is_more(files, other.files()); });
    if (!is_other_name && !is_several) kept.push_back(gpu);
  }
  return kept;
}

Result<void> add(const Edits& edits, job::HostDevices& devices) {
  for (const Edits::Node& node : edits.nodes) {
    const auto same = std::find_if(devices.nodes.begin(), devices.nodes.end(),
                                   [&](const auto& other) { return other.inside == node.inside; });
    if (same == devices.nodes.end())
      devices.nodes.push_back({node.outside, node.inside});
    else if (same->outside != node.outside)
      return fail(Errc::invalid_input, same->outside + " and " + node.outside +
                                           " would both be mapped to " + node.inside +
                                           " in the same host");
  }
  for (const job::DeviceMount& mount : edits.mounts)
    if (std::none_of(devices.mounts.begin(), devices.mounts.end(),
                     [&](const auto& other) { return other.inside == mount.inside; }))
      devices.mounts.push_back(mount);
  for (const auto& [name, value] : edits.environment) devices.environment[name] = value;
  return {};
}

/// True for the card, or a part of the card, of this number.
bool has_number(const Gpu& gpu, int number) {
  if (const std::optional<std::int64_t> own = gpu.number()) return *own == number;
  for (const std::string& file : gpu.files())
    if (const std::optional<int> own = gpu_number(file)) return *own == number;
  return false;
}

}  // namespace

std::vector<std::string> Gpu::files() const {
  std::vector<std::string> files;
  for (const Edits::Node& node : own.nodes) files.push_back(node.outside);
  std::sort(files.begin(), files.end());
  if (files.empty()) files.push_back(name);
  return files;
}

std::optional<std::int64_t> Gpu::number() const {
  const std::size_t end = name.find_last_not_of("0123456789");
  const std::string_view before = std::string_view(name).substr(0, end + 1);
  if (!before.ends_with('=') && !before.ends_with("/nvidia")) return std::nullopt;
  return parse_integer(std::string_view(name).substr(end + 1));
}

Result<std::vector<Gpu>> gpus_in(const std::vector<FoundFile>& files) {
  std::map<std::string, std::pair<Gpu, const FoundFile*>> by_name;
  for (const FoundFile& found : files) {
    if (!is_gpu_kind(found.file.kind)) continue;
    for (const CdiDevice& device : found.file.devices) {
      Gpu gpu{found.file.kind + "=" + device.name, found.file.kind, device.edits, found.file.edits};
      const auto other = by_name.find(gpu.name);
      if (other != by_name.end() && other->second.second->priority > found.priority) continue;
      if (other != by_name.end() && other->second.second->priority == found.priority)
        return fail(Errc::invalid_input, found.path + ": " + gpu.name + " is also in " +
                                             other->second.second->path +
                                             "; define each device in only one file per folder");
      const std::string name = gpu.name;
      by_name.insert_or_assign(name, std::make_pair(std::move(gpu), &found));
    }
  }
  std::vector<Gpu> gpus;
  for (const auto& [name, found] : by_name) gpus.push_back(found.first);
  return each_once(std::move(gpus));
}

std::vector<Gpu> plain_gpus(const std::vector<std::string>& names, const std::string& folder) {
  Edits common;
  const auto node = [&](const std::string& name) {
    return Edits::Node{folder + "/" + name, "/dev/" + name};
  };
  for (const char* name : common_nodes)
    if (std::find(names.begin(), names.end(), name) != names.end())
      common.nodes.push_back(node(name));
  std::vector<Gpu> gpus;
  for (const std::string& name : names)
    if (name.starts_with("nvidia") && name.size() > 6 &&
        name.find_first_not_of("0123456789", 6) == std::string::npos)
      gpus.push_back({"/dev/" + name, std::string(plain_kind), {.nodes = {node(name)}}, common});
  return each_once(std::move(gpus));
}

std::vector<std::pair<std::string, std::string>> driver_libraries(std::string_view cache) {
  std::vector<std::pair<std::string, std::string>> libraries;
  for (const std::string& line : split(cache, '\n')) {
    // "libcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1"
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 4 || words[words.size() - 2] != "=>" ||
        line.find("x86-64") == std::string::npos)
      continue;
    const std::string& name = words.front();
    const bool is_wanted = std::any_of(library_starts.begin(), library_starts.end(),
                                       [&](const char* start) { return name.starts_with(start); });
    const bool is_known = std::any_of(libraries.begin(), libraries.end(),
                                      [&](const auto& other) { return other.first == name; });
    if (is_wanted && !is_known && name.find(".so.") != std::string::npos)
      libraries.emplace_back(name, words.back());
  }
  return libraries;
}

Result<job::HostDevices> given(const std::vector<Gpu>& gpus) {
  job::HostDevices devices;
  for (const Gpu& gpu : gpus) {
    devices.gpus.push_back(gpu.name);
    TRY(add(gpu.common, devices));
    TRY(add(gpu.own, devices));
  }
  std::vector<std::string> uuids;
  for (const Gpu& gpu : gpus)
    if (!gpu.uuid.empty()) uuids.push_back(gpu.uuid);
  if (!uuids.empty() && uuids.size() == gpus.size())
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
      devices.environment[name] = join(uuids, ",");
  return devices;
}

Result<std::vector<Gpu>> numbered(const std::vector<Gpu>& gpus, const std::vector<int>& numbers) {
  std::vector<Gpu> found;
  for (const int number : numbers) {
    const auto is_it = [&](const Gpu& gpu) { return has_number(gpu, number); };
    const std::ptrdiff_t count = std::count_if(gpus.begin(), gpus.end(), is_it);
    if (count != 1)
      return fail(Errc::invalid_input,
                  "GPU " + std::to_string(number) +
                      (count == 0 ? ": found neither in a CDI file nor as a device file"
                                  : " is split into several parts, so its number does "
                                    "not identify a single part"));
    found.push_back(*std::find_if(gpus.begin(), gpus.end(), is_it));
  }
  return found;
}

}  // namespace muster::devices
