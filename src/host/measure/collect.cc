#include "host/measure/collect.h"

#include <elf.h>
#include <link.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/process/machine_memory.h"
#include "base/text.h"
#include "base/time.h"
#include "base/variables.h"
#include "job/host_devices.h"
#include "net/addresses/interfaces.h"
#include "os/devices/find.h"
#include "os/devices/kernel_log.h"

namespace muster::preflight {
namespace {

constexpr Duration driver_wait = std::chrono::seconds(1);
constexpr std::size_t file_bytes_max = 1u << 20;
constexpr std::size_t addresses_max = 8;  ///< A name rarely has more.
constexpr Duration look_up_max = std::chrono::seconds(1);
constexpr const char* gpus_folder = "/proc/driver/nvidia/gpus";
const char* const packages_of_interest[] = {"numpy",   "torch",     "tensorflow", "mxnet",
                                            "horovod", "deepspeed", "mpi4py"};
/// NVIDIA's libraries, whose packages end in the version of CUDA: nvidia_nccl_cu12.
const char* const libraries_of_interest[] = {"nvidia_nccl", "nvidia_cudnn", "nvidia_cuda_runtime"};

/// A program's path on PATH; empty if it is not found.
std::string program_on_path(const Env& env, const std::string& name) {
  for (const std::string& folder : split(value_of(env, "PATH"), ':')) {
    std::string path = folder + "/" + name;
    if (!folder.empty() && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

std::string file_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Paths of the entries of `folder` with this prefix.
std::vector<std::string> paths_in(const std::string& folder, const std::string& begin) {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(folder).value_or({}))
    if (name.starts_with(begin)) paths.push_back(folder + "/" + name);
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Python, without starting it.

void read_python(const Env& env, HostFacts& facts) {
  std::string python = program_on_path(env, "python3");
  if (python.empty()) python = program_on_path(env, "python");
  for (const std::string& folder : split(value_of(env, "PYTHONPATH"), ':'))
    if (!folder.empty()) add_packages(names_in(folder).value_or({}), facts.packages);
  if (python.empty()) return;
  const std::string prefix = folder_of(folder_of(python));
  const std::string real = real_path(python);
  facts.python =
      version_in_pyvenv(read_file(prefix + "/pyvenv.cfg", file_bytes_max).value_or(std::string()));
  const bool is_venv = !facts.python.empty();
  if (!is_venv && file_of(real).starts_with("python")) facts.python = file_of(real).substr(6);
  const std::string home = is_venv ? prefix : folder_of(folder_of(real));
  for (const std::string& library : {home + "/lib", home + "/local/lib"})
    for (const std::string& folder : paths_in(library, "python3"))
      for (const char* packages : {"/site-packages", "/dist-packages"})
        add_packages(names_in(folder + packages).value_or({}), facts.packages);
}

// MPI, without starting it.

std::string mpi_library(const Env& env) {
  const std::string mpirun = program_on_path(env, "mpirun");
  if (mpirun.empty()) return {};
  const std::string home = folder_of(folder_of(real_path(mpirun)));
  std::vector<std::string> folders = {home + "/lib", home + "/lib64", home + "/lib/release"};
  for (const std::string& folder : names_in(home + "/lib").value_or({}))
    if (folder.ends_with("-linux-gnu")) folders.push_back(home + "/lib/" + folder);
  std::string longest;
  for (const std::string& folder : folders)
    for (const char* begin : {"libmpi.so.", "libmpich.so."})
      for (const std::string& path : paths_in(folder, begin))
        if (file_of(path).size() > longest.size()) longest = file_of(path);
  return longest;
}

// The machine.

void read_disk(std::string folder, HostFacts& facts) {
  struct statvfs info {};
  while (!folder.empty() && ::statvfs(folder.c_str(), &info) != 0) folder = folder_of(folder);
  if (folder.empty() && ::statvfs("/", &info) != 0) return;
  facts.disk_free_bytes = static_cast<std::int64_t>(info.f_bavail * info.f_frsize);
  facts.disk_bytes = static_cast<std::int64_t>(info.f_blocks * info.f_frsize);
}

void read_memory(HostFacts& facts) {
  const MachineMemory memory = machine_memory().value_or(MachineMemory());
  facts.memory_bytes = memory.bytes;
  facts.memory_free_bytes = memory.available_bytes;
}

void read_gpus(int counted, HostFacts& facts) {
  for (const std::string& name : names_in(gpus_folder).value_or({})) {
    const std::string path = std::string(gpus_folder) + "/" + name + "/information";
    for (const std::string& line : split(read_file(path, file_bytes_max).value_or(""), '\n'))
      if (line.starts_with("Model:")) facts.gpus.push_back(trim(line.substr(6)));
  }
  // The job may have fewer GPUs than the machine, or GPUs of another vendor.
  facts.gpus.resize(static_cast<std::size_t>(std::max(counted, 0)));
  std::sort(facts.gpus.begin(), facts.gpus.end());
  facts.gpu_driver =
      nvidia_version_in(read_file("/proc/driver/nvidia/version", file_bytes_max).value_or(""));
}

/// The driver's library that the job's programs find. muster's own folder comes first, because it
/// has the machine's library in a container.
std::string cuda_library() {
  for (const char* folder : {job::driver_libraries_path, "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
                             "/usr/local/nvidia/lib64"}) {
    std::string version = devices::cuda_library_version(names_in(folder).value_or({}));
    if (!version.empty()) return version;
  }
  return {};
}

/// A tool that takes longer, because it loads the driver first, counts as silent.
void ask_driver(const Env& env, HostFacts& facts) {
  const auto cards = devices::ask_cards(env, devices::Places(), driver_wait);
  if (!cards && cards.error().code == Errc::invalid_input)
    facts.gpu_troubles.push_back(cards.error().text);
  std::vector<std::string> remarks;
  for (const devices::CardHealth& card : cards.value_or({})) {
    if (!card.sickness.empty())
      facts.gpu_troubles.push_back(devices::name_of(card) + " " + card.sickness);
    for (std::string& line : devices::remarks_on(card)) remarks.push_back(std::move(line));
  }
  facts.gpu_troubles.insert(facts.gpu_troubles.end(), remarks.begin(), remarks.end());
}

/// Only where the host sees the machine's devices: a container has no kernel log.
void read_kernel_log(const Env& env, HostFacts& facts) {
  if (::access(devices::kernel_log, F_OK) != 0) return;
  const auto xids = devices::past_xids(env, driver_wait);
  if (!xids) facts.kernel_log = xids.error().text;
  for (std::string& line : devices::history_of(xids.value_or({}), devices::gpu_places(gpus_folder)))
    facts.gpu_troubles.push_back("since the machine started: " + std::move(line));
}

void read_gpu_health(const Env& env, HostFacts& facts) {
  ask_driver(env, facts);
  for (std::string& line : devices::rdma_troubles(devices::rdma_ports(), facts.kernel))
    facts.gpu_troubles.push_back(std::move(line));
  read_kernel_log(env, facts);
}

void read_network(const std::string& interface, HostFacts& facts) {
  std::vector<InterfaceAddress> all =
      interface_addresses().value_or(std::vector<InterfaceAddress>());
  for (const InterfaceAddress& each : all)
    if (each.is_up)
      facts.interfaces[each.interface].push_back(each.address + "/" +
                                                 std::to_string(each.prefix_bits));
  std::erase_if(all, [](const InterfaceAddress& each) { return each.is_loopback || !each.is_up; });
  facts.interface = interface;
  if (all.empty()) return;
  const bool is_there = std::any_of(all.begin(), all.end(), [&](const InterfaceAddress& each) {
    return each.interface == interface;
  });
  const std::string used = is_there ? interface : all.front().interface;
  if (facts.interface.empty()) facts.interface = used;
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    const auto rank = [&](const InterfaceAddress& each) {
      return (each.interface == used ? 0 : 2) + (each.is_v4 ? 0 : 1);
    };
    return rank(a) < rank(b);
  });
  for (const InterfaceAddress& each : all) facts.addresses.push_back(each.address);
  ifreq request{};
  std::strncpy(request.ifr_name, used.c_str(), IFNAMSIZ - 1);
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket && ::ioctl(socket.get(), SIOCGIFMTU, &request) == 0) facts.mtu = request.ifr_mtu;
}

std::vector<std::string> addresses_of(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, ::freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
    addresses.push_back(numeric_address(each->ai_addr));
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  addresses.resize(std::min(addresses.size(), addresses_max));
  return addresses;
}

/// The build id among an ELF file's notes.
std::string build_id_in(const char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes, sizeof(head));
    const std::size_t name_bytes = (head.n_namesz + 3u) & ~3u;
    const std::size_t bytes = sizeof(head) + name_bytes + ((head.n_descsz + 3u) & ~3u);
    if (bytes > size) return {};
    if (head.n_type == NT_GNU_BUILD_ID && std::strcmp(notes + sizeof(head), "GNU") == 0)
      return hex(std::string_view(notes + sizeof(head) + name_bytes, head.n_descsz));
    notes += bytes;
    size -= bytes;
  }
  return {};
}

/// The loader lists the program's own file first.
int find_build_id(dl_phdr_info* info, std::size_t, void* into) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string id = build_id_in(
        reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(into) = id;
  }
  return 1;
}

}  // namespace

HostFacts collect(const Collecting& asked) {
  HostFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.node = names.nodename;
    facts.kernel = names.release;
  }
  facts.muster = MUSTER_VERSION;
  ::dl_iterate_phdr(find_build_id, &facts.build);
  read_python(asked.env, facts);
  facts.mpi = mpi_library(asked.env);
  read_disk(asked.folder, facts);
  read_memory(facts);
  read_gpus(asked.gpus, facts);
  if (asked.gpus > 0) {
    facts.gpu_library = cuda_library();
    facts.rdma = devices::rdma_summary(devices::rdma_ports());
    if (asked.asks_driver) read_gpu_health(asked.env, facts);
  }
  read_network(asked.interface, facts);
  const TimePoint enough = Clock::now() + look_up_max;
  for (const std::string& name : asked.names)
    if (Clock::now() < enough) facts.names[name] = addresses_of(name);
  return facts;
}

std::string version_in_pyvenv(const std::string& text) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = trim(line.substr(0, equals));
    if (key != "version" && key != "version_info") continue;
    const std::string value = trim(line.substr(equals + 1));
    const std::string number = value.substr(0, value.find_first_not_of("0123456789."));
    return number.ends_with('.') ? number.substr(0, number.size() - 1) : number;
  }
  return {};
}

std::string nvidia_version_in(const std::string& text) {
  for (const std::string& word : split_words(text))
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return {};
}

void add_packages(const std::vector<std::string>& names,
                  std::map<std::string, std::string>& packages) {
  for (const std::string& name : names) {
    const std::size_t dash = name.find('-');
    const std::size_t end = name.ends_with(".dist-info")  ? name.size() - 10
                            : name.ends_with(".egg-info") ? name.size() - 9
                                                          : 0;
    if (dash == std::string::npos || dash + 1 >= end) continue;
    const std::string package = lower_case(name.substr(0, dash));
    const bool is_wanted =
        std::count(std::begin(packages_of_interest), std::end(packages_of_interest), package) > 0 ||
        std::any_of(std::begin(libraries_of_interest), std::end(libraries_of_interest),
                    [&package](const char* start) { return package.starts_with(start); });
    // An egg's version is followed by that of its interpreter.
    const std::string version = name.substr(dash + 1, end - dash - 1);
    if (is_wanted) packages.emplace(package, version.substr(0, version.find("-py")));
  }
}

}  // namespace muster::preflight
