#include "cli/doctor.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/exit_codes.h"
#include "cli/on_path.h"
#include "command/line.h"
#include "machine/machine.h"

namespace muster::cli {
namespace {

struct KernelVersion {
  std::int64_t major = 0;
  std::int64_t minor = 0;
};
/// pidfd_open, clone3, close_range: what muster takes for granted.
constexpr KernelVersion kernel_min{5, 9};
/// Overlays over what is shown with translated owners.
constexpr KernelVersion kernel_of_user_ids{5, 19};
constexpr int cap_sys_resource = 24;

bool has_file_system(const std::string& file_systems, const std::string& name) {
  for (const std::string& line : split(file_systems, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (!words.empty() && words.back() == name) return true;
  }
  return false;
}

bool has_control_groups(const std::string& mountinfo) {
  return mountinfo.find(" - cgroup2 ") != std::string::npos ||
         mountinfo.find(" - cgroup ") != std::string::npos;
}

bool is_new_enough(const std::string& kernel, KernelVersion least) {
  const std::vector<std::string> parts = split(kernel.substr(0, kernel.find('-')), '.');
  if (parts.size() < 2) return false;
  const std::int64_t major = parse_integer(parts[0]).value_or(0);
  const std::int64_t minor = parse_integer(parts[1]).value_or(0);
  return major > least.major || (major == least.major && minor >= least.minor);
}

/// "CapEff:\t000001fffffeffff" in /proc/self/status.
bool has_capability(const std::string& status, int number) {
  constexpr std::string_view name = "CapEff:\t";
  const std::size_t at = status.find(name);
  if (at == std::string::npos) return false;
  const char* const digits = status.c_str() + at + name.size();
  return (std::strtoull(digits, nullptr, 16) >> number & 1) != 0;
}

/// The folder, or what is nearest above it.
std::string nearest(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0) path.resize(path.rfind('/'));
  return path.empty() ? "/" : path;
}

Finding program(const char* name, const std::string& path, bool needed, const char* purpose,
                const char* package) {
  return {name, !path.empty(), needed, path.empty() ? purpose : path,
          std::string("apt-get install ") + package};
}

}  // namespace

MachineFacts machine_facts(const Env& env) {
  MachineFacts facts;
  facts.root = ::geteuid() == 0;
  utsname names{};
  if (::uname(&names) == 0) facts.kernel = names.release;
  facts.runc = on_path("runc", env);
  facts.python3 = on_path("python3", env);
  facts.mpirun = on_path("mpirun", env);
  facts.nft = on_path("nft", env);
  facts.file_systems = read_file("/proc/filesystems").value_or("");
  facts.mountinfo = read_file("/proc/self/mountinfo").value_or("");
  facts.seccomp_actions = read_file("/proc/sys/kernel/seccomp/actions_avail").value_or("");
  facts.status = read_file("/proc/self/status").value_or("");
  const std::string user_namespaces = read_file("/proc/sys/user/max_user_namespaces").value_or("0");
  facts.user_namespaces = parse_integer(trim(user_namespaces)).value_or(0) > 0;
  facts.state_folder = machine::state_folder(env);
  facts.state_writable = ::access(nearest(facts.state_folder).c_str(), W_OK) == 0;
  return facts;
}

std::vector<Finding> findings(const MachineFacts& facts) {
  std::vector<Finding> all;
  all.push_back({"root", facts.root, true, facts.root ? "yes" : "hosts are containers",
                 "run sm as root: sudo sm ..."});
  all.push_back({"kernel", is_new_enough(facts.kernel, kernel_min), true, facts.kernel,
                 "Linux 5.9 or newer is needed"});
  all.push_back(program("runc", facts.runc, true, "runs the hosts", "runc"));
  all.push_back({"overlayfs", has_file_system(facts.file_systems, "overlay"), true,
                 "hosts write to a layer over the machine's files", "modprobe overlay"});
  all.push_back({"cgroups", has_control_groups(facts.mountinfo), true,
                 "hosts' processes are kept together and limited",
                 "mount -t cgroup2 none /sys/fs/cgroup"});
  all.push_back({"seccomp", facts.seccomp_actions.find("errno") != std::string::npos, true,
                 "hosts get a system call filter", "a kernel with CONFIG_SECCOMP_FILTER"});
  const bool own_ids = is_new_enough(facts.kernel, kernel_of_user_ids) && facts.user_namespaces;
  all.push_back(
      {"user ids", own_ids, false, "root of a host is nobody on the machine",
       "Linux 5.19 or newer and user.max_user_namespaces above 0; before, a host's root is "
       "root by number"});
  all.push_back({"oom score", has_capability(facts.status, cap_sys_resource), false,
                 "server and stewards outlive jobs when memory runs out",
                 "run sm with CAP_SYS_RESOURCE"});
  all.push_back({"state folder", facts.state_writable, true, facts.state_folder,
                 "make it writable, or name another in MUSTER_STATE"});
  all.push_back(program("python3", facts.python3, false, "for Python scripts", "python3"));
  all.push_back(program("mpirun", facts.mpirun, false, "for jobs of several processes under MPI",
                        "openmpi-bin"));
  all.push_back(
      program("nft", facts.nft, false, "for looking at or cutting hosts' networks", "nftables"));
  return all;
}

bool is_well(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.good || !each.needed; });
}

std::string findings_text(const std::vector<Finding>& findings, bool colour) {
  std::string text;
  for (const Finding& each : findings) {
    std::string mark = each.good ? "ok     " : each.needed ? "MISSING" : "absent ";
    if (colour) {
      const char* const shade = each.good ? "\x1b[32m" : each.needed ? "\x1b[31m" : "\x1b[33m";
      mark = shade + mark + "\x1b[0m";
    }
    std::string name = each.what;
    name.resize(std::max<std::size_t>(name.size(), 13), ' ');
    text += mark + " " + name + visible_line(each.found);
    if (!each.good) text += " -> " + each.advice;
    text += '\n';
  }
  text += is_well(findings) ? "This machine can run jobs.\n"
                            : "This machine cannot run jobs yet: see MISSING above.\n";
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json checks = Json::array();
  for (const Finding& each : findings) {
    Json check{
        {"what", each.what}, {"good", each.good}, {"needed", each.needed}, {"found", each.found}};
    if (!each.good) check["advice"] = each.advice;
    checks.push_back(std::move(check));
  }
  return visible_json(to_text(Json{{"good", is_well(findings)}, {"checks", checks}})) + "\n";
}

std::string first_lack(const MachineFacts& facts, bool mpi) {
  for (const Finding& each : findings(facts)) {
    if (each.good || !(each.needed || (mpi && each.what == "mpirun"))) continue;
    if (each.what == "root") return "jobs on this machine need root: run it with sudo";
    return each.what + " is missing: " + each.advice + " (sm doctor tells all)";
  }
  return {};
}

int doctor_main(const Args& args, const Env& env) {
  command::Line line(command::page_of("doctor"));
  bool json = false;
  line.flag("--json", json);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const std::vector<Finding> found = findings(machine_facts(env));
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && !env.contains("NO_COLOR");
  const std::string text = json ? findings_json(found) : findings_text(found, colour);
  if (!write_all(STDOUT_FILENO, text)) return exit_platform;
  return is_well(found) ? exit_success : exit_platform;
}

}  // namespace muster::cli
