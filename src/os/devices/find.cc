#include "os/devices/find.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "os/devices/gpu_figures.h"
#include "os/devices/mig.h"
#include "os/supervise/answer.h"

namespace muster::devices {
namespace {

constexpr std::size_t file_bytes_max = 1u << 20;
constexpr std::size_t information_bytes_max = 1u << 16;
constexpr mode_t others_write = 022;
/// Who owns what no user of the process's namespace does (/proc/sys/kernel/overflowuid).
constexpr uid_t nobody = 65534;
constexpr mode_t others_use = 06;
constexpr mode_t others_read = 04;
constexpr const char* management_program = "/usr/bin/nvidia-smi";

/// Error: `denied` for what somebody besides root may change.
Result<void> check_owner(int fd, const std::string& path, bool rootless) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail_errno("cannot open " + path);
  const bool is_roots = info.st_uid == 0 || (rootless && info.st_uid == nobody);
  if (is_roots && (info.st_mode & others_write) == 0) return {};
  return fail(Errc::denied, path +
                                ": must be owned by root and writable only by root, because it "
                                "determines which devices and files hosts can use");
}

bool is_cdi_name(const std::string& name) {
  return !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".yaml"));
}

Result<CdiFile> read_found(const std::string& path, bool rootless) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fail_errno("cannot open " + path);
  TRY(check_owner(file.get(), path, rootless));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot open " + path);
  if (!S_ISREG(info.st_mode)) return fail(Errc::invalid_input, path + ": expected a file");
  const std::string text =
      TRY(read_file("/proc/self/fd/" + std::to_string(file.get()), file_bytes_max));
  Result<CdiFile> read = read_cdi(path, text);
  if (!read) return read.error().in(path);
  return read;
}

Result<std::vector<FoundFile>> find_files(const std::vector<std::string>& folders, bool rootless) {
  std::vector<FoundFile> found;
  int priority = 0;
  for (const std::string& folder : folders) {
    ++priority;
    const Fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd && errno == ENOENT) continue;
    if (!fd) return fail_errno("cannot open " + folder);
    const std::vector<std::string> names = TRY(names_in(fd.get(), folder));
    if (std::none_of(names.begin(), names.end(), is_cdi_name)) continue;
    TRY(check_owner(fd.get(), folder, rootless));
    for (const std::string& name : names) {
      if (!is_cdi_name(name)) continue;
      const std::string path = folder + "/" + name;
      CdiFile file = TRY(read_found(path, rootless));
      found.push_back({path, priority, std::move(file)});
    }
  }
  return found;
}

/// Names beside `library` that lead to it: "libcuda.so.1" for libcuda.so.535.54.03. The loader
/// looks for those; a vendor's hook would run ldconfig for them.
std::vector<std::string> names_of(const std::string& library) {
  namespace fs = std::filesystem;
  std::error_code code;
  const fs::path real = fs::canonical(library, code);
  if (code) return {};
  const std::string start =
      real.filename().string().substr(0, real.filename().string().find(".so"));
  std::vector<std::string> names = {real.filename().string()};
  for (const fs::directory_entry& entry : fs::directory_iterator(real.parent_path(), code)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(start + ".so") || !entry.is_symlink(code)) continue;
    if (fs::canonical(entry.path(), code) == real && !code) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_library(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.starts_with("lib") && name.find(".so") != std::string::npos;
}

bool has_libraries(const job::HostDevices& devices) {
  return std::any_of(devices.mounts.begin(), devices.mounts.end(),
                     [](const auto& mount) { return is_library(mount.inside); });
}

void add_library(job::HostDevices& devices, const std::string& name, const std::string& path) {
  const std::string inside = std::string(job::driver_libraries_path) + "/" + name;
  const bool is_there = std::any_of(devices.mounts.begin(), devices.mounts.end(),
                                    [&](const auto& mount) { return mount.inside == inside; });
  if (!is_there) devices.mounts.push_back({path, inside, true});
}

/// Names of plain device files are their paths.
bool have_no_cdi_file(const std::vector<Gpu>& gpus) {
  return !gpus.empty() && gpus.front().name.starts_with('/');
}

/// The driver's files of capabilities are for reading only.
mode_t needed_of(const job::DeviceNode& node) {
  return node.inside.starts_with("/dev/nvidia-caps/") ? others_read : others_use;
}

}  // namespace

// A domain's number has no zeros before it, so a longer name is a higher place.
std::vector<int> in_order_of_bus(const std::map<std::string, int>& places) {
  std::vector<std::pair<std::string, int>> sorted(places.begin(), places.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.size(), a.first) < std::pair(b.first.size(), b.first);
  });
  std::vector<int> numbers;
  for (const auto& [place, number] : sorted) numbers.push_back(number);
  return numbers;
}

Places places_of(const Env& env) {
  Places places{.cdi = {"/etc/cdi", "/var/run/cdi"}, .rootless = rootless_ids(env) > 0};
  const auto sick = env.find(sick_gpus_variable);
  places.gives_sick = sick != env.end() && sick->second == "use";
  const auto named = env.find("MUSTER_CDI_FOLDERS");
  if (named == env.end() || named->second.empty()) return places;
  places.cdi = split(named->second, ':');
  std::erase(places.cdi, "");
  return places;
}

Result<std::vector<Gpu>> find_gpus(const Places& places) {
  const std::vector<FoundFile> files = TRY(find_files(places.cdi, places.rootless));
  std::vector<Gpu> gpus = TRY(gpus_in(files));
  if (gpus.empty())
    gpus = in_parts(plain_gpus(names_in(places.dev).value_or({}), places.dev),
                    read_mig(places.capabilities), places.dev);
  return gpus;
}

std::map<std::string, int> gpu_places(const std::string& told) {
  std::map<std::string, int> places;
  for (const std::string& name : names_in(told).value_or(std::vector<std::string>())) {
    const Result<std::string> text =
        read_file(told + "/" + name + "/information", information_bytes_max);
    if (const auto place = text ? gpu_place_from(*text) : std::nullopt) places.insert(*place);
  }
  return places;
}

Result<std::vector<CardHealth>> ask_cards(const Env& env, const Places& places, Duration limit) {
  const TimePoint deadline = Clock::now() + limit;
  const Command command{.argv = card_health_command(), .env = env, .cwd = "/"};
  const std::optional<std::string> said = env::output_of(command, limit);
  if (!said) return fail(Errc::not_found, "nvidia-smi -q: no response");
  std::vector<CardHealth> cards = TRY(card_health_in(*said));
  add_numbers(cards, gpu_places(places.driver));
  const Command ask_links{.argv = nvlink_command(), .env = env, .cwd = "/"};
  const std::optional<std::string> links = env::output_of(ask_links, deadline - Clock::now());
  if (links) add_remarks(cards, nvlink_remarks(*links));
  return cards;
}

std::vector<RdmaPort> rdma_ports(const std::string& folder) {
  const auto text_in = [](const std::string& path) {
    return trim(read_file(path, information_bytes_max).value_or(""));
  };
  std::vector<RdmaPort> ports;
  for (const std::string& adapter : names_in(folder).value_or(std::vector<std::string>())) {
    const std::string base = folder + "/" + adapter;
    for (const std::string& port : names_in(base + "/ports").value_or(std::vector<std::string>())) {
      const std::string path = base + "/ports/" + port;
      const std::string layer = text_in(path + "/link_layer");
      if (layer != "InfiniBand" && layer != "Ethernet") continue;  // AWS's EFA has other rules.
      ports.push_back({.name = adapter + "/" + port,
                       .model = layer + " " + text_in(base + "/board_id"),
                       .state = text_in(path + "/state"),
                       .physical = text_in(path + "/phys_state"),
                       .rate = text_in(path + "/rate")});
    }
  }
  return ports;
}

std::vector<std::string> rdma_troubles(const std::vector<RdmaPort>& ports,
                                       const std::string& kernel) {
  constexpr const char* version = "/proc/driver/nvidia/version";
  std::vector<std::string> lines = rdma_remarks(ports);
  const bool has_peermem = ::access("/sys/module/nvidia_peermem", F_OK) == 0;
  std::string trouble = direct_access_trouble(
      has_peermem, read_file(version, information_bytes_max).value_or(""), kernel);
  if (!rdma_summary(ports).empty() && !trouble.empty()) lines.push_back(std::move(trouble));
  return lines;
}

Result<std::vector<Gpu>> find_given(const Places& places, const std::vector<int>& numbers) {
  const std::vector<Gpu> all = TRY(find_gpus(places));
  const std::vector<int> by_bus =
      have_no_cdi_file(all) ? in_order_of_bus(gpu_places(places.driver)) : std::vector<int>();
  std::vector<int> wanted;
  for (const int number : numbers) {
    const auto place = static_cast<std::size_t>(number);
    wanted.push_back(place < by_bus.size() ? by_bus[place] : number);
  }
  std::vector<Gpu> given = TRY(numbered(all, wanted));
  for (const Gpu& gpu : given)
    for (const std::string& file : gpu.files())
      if (const Fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)); !fd)
        return fail_errno("cannot open " + file);
  return given;
}

Result<job::HostDevices> complete(job::HostDevices devices) {
  for (job::DeviceNode& node : devices.nodes) {
    struct stat info {};
    if (::stat(node.outside.c_str(), &info) != 0) return fail_errno("cannot open " + node.outside);
    if (!S_ISCHR(info.st_mode))
      return fail(Errc::system, node.outside + ": hosts can only have character devices");
    node.major = ::major(info.st_rdev);
    node.minor = ::minor(info.st_rdev);
  }
  const std::vector<job::DeviceMount> mounts = devices.mounts;
  for (const job::DeviceMount& mount : mounts)
    if (is_library(mount.inside) && !mount.inside.starts_with(job::driver_libraries_path))
      for (const std::string& name : names_of(mount.outside))
        add_library(devices, name, mount.outside);
  TRY(job::check(devices));
  return devices;
}

void add_driver(job::HostDevices& devices, std::string_view cache) {
  for (const auto& [name, path] : driver_libraries(cache)) add_library(devices, name, path);
  if (::access(management_program, X_OK) == 0)
    devices.mounts.push_back({management_program, management_program, true});
}

std::vector<std::string> add_rdma(job::HostDevices& devices, const std::string& dev) {
  std::vector<std::string> added;
  const auto is_inside = [&](const std::string& inside) {
    return std::any_of(devices.nodes.begin(), devices.nodes.end(),
                       [&](const job::DeviceNode& node) { return node.inside == inside; });
  };
  const auto add = [&](const std::string& name) {
    struct stat info {};
    const std::string path = dev + "/" + name;
    if (::stat(path.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return false;
    // Management of the whole fabric is root's of the machine alone.
    if ((info.st_mode & others_use) != others_use) return false;
    if (!is_inside("/dev/" + name)) devices.nodes.push_back({path, "/dev/" + name});
    return true;
  };
  bool has_any = false;
  for (const std::string& name : names_in(dev + "/infiniband").value_or(std::vector<std::string>()))
    has_any = add("infiniband/" + name) || has_any;
  if (has_any) added.emplace_back("/dev/infiniband");
  devices.locks_memory = devices.locks_memory || has_any;
  if (add("gdrdrv")) added.emplace_back("/dev/gdrdrv");
  return added;
}

std::vector<std::string> closed_nodes(const job::HostDevices& devices) {
  std::vector<std::string> lines;
  for (const job::DeviceNode& node : devices.nodes) {
    struct stat info {};
    const mode_t needed = needed_of(node);
    if (::stat(node.outside.c_str(), &info) != 0 || (info.st_mode & needed) == needed) continue;
    lines.push_back(node.outside +
                    " cannot be opened by hosts, whose users are unprivileged on this machine: run "
                    "chmod a+rw, or add a udev rule with MODE=\"0666\"");
  }
  return lines;
}

Result<Handed> hand_over(const std::string& host, const std::vector<Gpu>& gpus,
                         const Places& places, std::string_view library_cache) {
  Handed handed{.devices = TRY(given(gpus)), .line = host + " has "};
  job::HostDevices& devices = handed.devices;
  handed.line += join(devices.gpus, ", ");
  // A CDI file may name device files alone.
  if (!has_libraries(devices)) add_driver(devices, library_cache);
  const std::vector<std::string> shared = add_rdma(devices, places.dev);
  if (!shared.empty()) handed.line += ", and the machine's " + join(shared, " and ");
  devices = TRY(complete(std::move(devices)));
  return handed;
}

}  // namespace muster::devices
