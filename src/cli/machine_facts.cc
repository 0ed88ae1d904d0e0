#include "cli/machine_facts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/port.h"
#include "base/process/machine_memory.h"
#include "base/process/private_folders.h"
#include "base/process/rootless.h"
#include "base/text.h"
#include "cli/on_path.h"
#include "job/launch/launchers.h"
#include "os/devices/accelerators.h"
#include "os/supervise/answer.h"
#include "platform/places/machine.h"

namespace muster::cli {
namespace {

std::string text_in(const char* path) {
  return read_file(path).value_or("");
}

/// The folder, or what is nearest above it.
std::string nearest(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0) path.resize(path.rfind('/'));
  return path.empty() ? "/" : path;
}

/// The I/O scheduler of the disk of `path`: "none [mq-deadline] bfq". For a partition, that of its
/// disk; empty if `path` is not on a disk.
std::string scheduler_below(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  const std::string device = "/sys/dev/block/" + std::to_string(major(info.st_dev)) + ":" +
                             std::to_string(minor(info.st_dev));
  std::string text = text_in((device + "/queue/scheduler").c_str());
  if (text.empty()) text = text_in((device + "/../queue/scheduler").c_str());
  return trim(text);
}

/// Controllers of version 2 in its root, of version 1 those that /proc/cgroups calls enabled.
std::string cgroup_controllers() {
  std::string all = text_in("/sys/fs/cgroup/cgroup.controllers");
  for (const std::string& line : split(text_in("/proc/cgroups"), '\n')) {
    const std::vector<std::string> words = split_words(line);
    constexpr std::size_t hierarchy = 1;  // 0: mounted by no version 1.
    if (words.size() == 4 && words[hierarchy] != "0" && words[3] == "1") all += " " + words[0];
  }
  return join(split_words(all), " ");
}

std::string trouble_at_port(std::uint16_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int reuse = 1;  // As the server does: connections that linger are no hindrance.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string where = "127.0.0.1:" + std::to_string(port);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  if (socket && ::bind(socket.get(), name, sizeof address) == 0) return {};
  return errno_text(where);
}

}  // namespace

MachineFacts machine_facts(const Env& env) {
  MachineFacts facts;
  facts.root = ::geteuid() == 0;
  facts.rootless_ids = rootless_ids(env);
  utsname names{};
  if (::uname(&names) == 0) facts.kernel = names.release;
  facts.runc = on_path("runc", env);
  facts.python3 = on_path("python3", env);
  facts.mpirun = on_path("mpirun", env);
  facts.mke2fs = on_path("mke2fs", env);
  facts.py_spy = beside_python(facts.python3, "py-spy", env);
  facts.loop_devices = ::access("/dev/loop-control", F_OK) == 0;
  facts.no_outside = places::why_no_outside(env);
  facts.file_systems = text_in("/proc/filesystems");
  facts.mountinfo = text_in("/proc/self/mountinfo");
  facts.controllers = cgroup_controllers();
  facts.seccomp_actions = text_in("/proc/sys/kernel/seccomp/actions_avail");
  facts.status = text_in("/proc/self/status");
  facts.user_namespaces =
      parse_integer(trim(text_in("/proc/sys/user/max_user_namespaces"))).value_or(0) > 0;
  facts.state_folder = state_folder(env);
  const std::string there = nearest(facts.state_folder);
  facts.state_writable = ::access(there.c_str(), W_OK) == 0;
  facts.disk_scheduler = scheduler_below(there);
  struct statvfs disk {};
  if (::statvfs(there.c_str(), &disk) == 0)
    facts.disk_free_bytes = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize);
  facts.memory_available_bytes = machine_memory().value_or(MachineMemory()).available_bytes;
  return facts;
}

JobFacts job_facts(const Env& env, const std::string& python) {
  JobFacts facts;
  facts.python = python.empty() ? "python3" : python;
  facts.modules =
      env::importable(launch::usual_modules(), facts.python, env, "/", env::Imports::isolated);
  const Result<int> gpus = places::count_gpus(env);
  if (gpus)
    facts.gpus = *gpus;
  else
    facts.gpu_trouble = gpus.error().text;
  if (facts.gpus > 0) {
    facts.health = places::gpu_health(env);
    facts.surroundings = places::gpu_surroundings(env);
  }
  facts.neurons = env::count_neurons(env);
  facts.port_trouble = trouble_at_port(server_port);
  return facts;
}

}  // namespace muster::cli
