#include "cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor_slurm.h"
#include "cli/exit_codes.h"
#include "cli/fit_options.h"
#include "cli/on_path.h"
#include "cli/places.h"
#include "cli/trial.h"
#include "command/line.h"
#include "launch/launchers.h"
#include "machine/rootless.h"

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
constexpr const char* run_as_root = "run sm as root: sudo sm ...";
/// Less memory or disk than this is no room for training.
constexpr std::int64_t least_bytes = std::int64_t{1} << 30;

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

Finding program(const char* name, const std::string& path, bool needed, const char* purpose,
                const char* package) {
  return {.what = name,
          .purpose = purpose,
          .good = !path.empty(),
          .needed = needed,
          .found = path,
          .advice = std::string("apt-get install ") + package};
}

bool has_word(const std::string& text, std::string_view word) {
  const std::vector<std::string> words = split_words(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string gibibytes(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10) >> 30;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

/// A thing of which there should be `least_bytes`, in words.
Finding amount(const char* what, const char* purpose, std::int64_t bytes, const char* advice) {
  return {.what = what,
          .purpose = purpose,
          .good = bytes >= least_bytes,
          .needed = false,
          .found = gibibytes(bytes) + " free",
          .advice = advice};
}

std::vector<Finding> kernel_findings(const MachineFacts& facts) {
  const bool has_limits =
      has_word(facts.controllers, "memory") && has_word(facts.controllers, "pids");
  const bool own_ids = is_new_enough(facts.kernel, kernel_of_user_ids) && facts.user_namespaces;
  const bool has_users = facts.rootless_ids > 1;
  const Finding users{.what = "user ids",
                      .purpose = "hosts can have several users",
                      .good = has_users,
                      .needed = false,
                      .advice =
                          "apt-get install uidmap; usermod --add-subuids 100000-165535 "
                          "--add-subgids 100000-165535 YOU"};
  const Finding nobody{.what = "user ids",
                       .purpose = "root in a host is an unprivileged user on the machine",
                       .good = own_ids,
                       .needed = false,
                       .advice =
                           "Linux 5.19 or newer and user.max_user_namespaces above 0; with older "
                           "kernels, root in a host has root's user ID"};
  return {
      {.what = "kernel",
       .purpose = "new enough to run hosts as containers",
       .good = is_new_enough(facts.kernel, kernel_min),
       .found = facts.kernel,
       .advice = "Linux 5.9 or newer is needed"},
      {.what = "overlayfs",
       .purpose = "hosts write to a layer over the machine's files",
       .good = has_file_system(facts.file_systems, "overlay"),
       .advice = "modprobe overlay"},
      {.what = "cgroups",
       .purpose = "keep the processes of a host together",
       .good = has_control_groups(facts.mountinfo),
       .found = facts.controllers,
       .advice = "mount -t cgroup2 none /sys/fs/cgroup"},
      {.what = "limits",
       .purpose = "jobs cannot use up all memory and all processes",
       .good = has_limits,
       .needed = false,
       .advice = "a kernel with the control groups memory and pids: cgroup_enable=memory at boot"},
      {.what = "seccomp",
       .purpose = "hosts get a system call filter",
       .good = facts.seccomp_actions.find("errno") != std::string::npos,
       .advice = "a kernel with CONFIG_SECCOMP_FILTER"},
      facts.rootless_ids > 0 ? users : nobody,
      {.what = "oom score",
       .purpose = "server and stewards outlive jobs when memory runs out",
       .good = has_capability(facts.status, cap_sys_resource),
       .needed = false,
       .advice = "run sm with CAP_SYS_RESOURCE"},
  };
}

/// "tensorflow" -> "for sm tf", by what its launcher calls it.
std::string purpose_of(const std::string& module) {
  for (const launch::LauncherRow& row : launch::launchers())
    if (row.needs.usual == module) return "for programs that " + std::string(row.name) + " starts";
  return {};
}

/// What is otherwise for jobs of an ordinary user.
void tell_without_root(std::vector<Finding>& all) {
  const auto is_any_of = [](const Finding& finding, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), finding.what) != names.end();
  };
  for (Finding& each : all) {
    if (each.what == "cgroups") each.needed = false;
    if (each.what == "outside")
      each.advice =
          "apt-get install slirp4netns nftables, and allow all users to open /dev/net/tun";
    if (!is_any_of(each, {"limits", "volumes", "disk shares", "oom score"})) continue;
    each.good = false;
    each.found = "needs root";
    each.advice = run_as_root;
  }
}

}  // namespace

std::vector<Finding> findings(const MachineFacts& facts) {
  std::vector<Finding> all = {
      {.what = "root",
       .purpose = "hosts are containers",
       .good = facts.root,
       .found = facts.rootless_ids > 0 ? "not needed: you can create namespaces" : facts.refused,
       .advice = run_as_root}};
  all.push_back(program("runc", facts.runc, true, "runs the hosts", "runc"));
  for (Finding& each : kernel_findings(facts)) all.push_back(std::move(each));
  if (facts.root)  // For others it is not writable, and need not be.
    all.push_back({.what = "state folder",
                   .purpose = "holds the files of running jobs",
                   .good = facts.state_writable,
                   .found = facts.state_folder,
                   .advice = "make it writable, or set MUSTER_STATE to another folder"});
  all.push_back(amount("disk", "for the state folder", facts.disk_free_bytes,
                       "free some space, or set MUSTER_STATE to a folder on another disk"));
  all.push_back({.what = "volumes",
                 .purpose = "VolumeSizeInGB and --volume-size limit the disk use of hosts",
                 .good = !facts.mke2fs.empty() && facts.loop_devices &&
                         has_file_system(facts.file_systems, "ext4"),
                 .needed = false,
                 .advice = "apt-get install e2fsprogs; modprobe loop ext4"});
  all.push_back({.what = "disk shares",
                 .purpose = "jobs that use the disk at the same time get equal shares of it",
                 .good = facts.disk_scheduler.find("[bfq]") != std::string::npos,
                 .needed = false,
                 .found = facts.disk_scheduler,
                 .advice = "write bfq to queue/scheduler of the disk in /sys/block: no other "
                           "scheduler supports the weights of control groups"});
  all.push_back(amount("memory", "for the jobs", facts.memory_available_bytes,
                       "end other programs; a job that runs out of memory is killed"));
  if (facts.python_asked.empty())
    all.push_back(program("python3", facts.python3, false, "for Python scripts", "python3"));
  else
    all.push_back({.what = "python",
                   .purpose = "for Python scripts",
                   .good = !facts.python3.empty(),
                   .found = facts.python3.empty() ? facts.python_asked : facts.python3,
                   .advice = "program not found; choose another with --python"});
  all.push_back(program("mpirun", facts.mpirun, false, "for jobs of several processes under MPI",
                        "openmpi-bin"));
  all.push_back({.what = "py-spy",
                 .purpose = "sm stacks shows the stacks of Python programs",
                 .good = !facts.py_spy.empty(),
                 .needed = false,
                 .found = facts.py_spy,
                 .advice = "pip install py-spy, and copy it to /usr/local/bin"});
  all.push_back({.what = "outside",
                 .purpose = "jobs can reach the same networks as this machine",
                 .good = facts.no_outside.empty(),
                 .needed = false,
                 .found = facts.no_outside,
                 .advice = "apt-get install nftables, and give the machine a default route; "
                           "otherwise hosts reach only each other and the job's S3"});
  if (facts.rootless_ids > 0) tell_without_root(all);
  return all;
}

std::vector<Finding> findings(const JobFacts& facts) {
  std::vector<Finding> all;
  for (const std::string& module : launch::usual_modules()) {
    const bool is_there = facts.modules && std::find(facts.modules->begin(), facts.modules->end(),
                                                     module) != facts.modules->end();
    all.push_back({.what = module,
                   .purpose = purpose_of(module),
                   .good = is_there,
                   .needed = false,
                   .found = is_there ? "in " + facts.python : std::string(),
                   .advice = facts.python + " -m pip install " + module +
                             ", or name another interpreter with --python"});
  }
  const bool has_accelerators = facts.gpus > 0 || facts.neurons > 0;
  all.push_back(
      {.what = "gpus",
       .purpose = "for training on GPUs",
       .good = has_accelerators,
       .needed = false,
       .found = facts.neurons > 0 ? std::to_string(facts.neurons) + " Neuron cores"
                : facts.gpus > 0  ? std::to_string(facts.gpus)
                                  : facts.gpu_trouble,
       .advice = "if the machine has GPUs, install their driver; nvidia-smi must list them"});
  all.push_back({.what = "port",
                 .purpose = "where sm server listens",
                 .good = facts.port_trouble.empty(),
                 .needed = false,
                 .found = facts.port_trouble,
                 .advice = "a server may already be running (try sm jobs); or use sm server "
                           "--listen 127.0.0.1:PORT"});
  return all;
}

bool is_well(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(),
                     [](const Finding& each) { return each.good || !each.needed; });
}

std::string findings_text(const std::vector<Finding>& findings, bool colour,
                          const std::string& where) {
  std::string text;
  for (const Finding& each : findings) {
    std::string mark = each.good ? "ok     " : each.needed ? "MISSING" : "absent ";
    if (colour) {
      const char* const shade = each.good ? "\x1b[32m" : each.needed ? "\x1b[31m" : "\x1b[33m";
      mark = shade + mark + "\x1b[0m";
    }
    std::string name = each.what;
    name.resize(std::max<std::size_t>(name.size(), 13), ' ');
    text += mark + " " + name + each.purpose;
    if (!each.found.empty()) text += ": " + visible_line(each.found);
    if (!each.good) text += " -> " + visible_line(each.advice);
    text += '\n';
  }
  text += where +
          (is_well(findings) ? " can run jobs.\n" : " cannot run jobs yet: see MISSING above.\n");
  return text;
}

std::string findings_json(const std::vector<Finding>& findings) {
  Json checks = Json::array();
  for (const Finding& each : findings) {
    Json check{{"what", each.what},
               {"purpose", each.purpose},
               {"good", each.good},
               {"needed", each.needed},
               {"found", each.found}};
    if (!each.good) check["advice"] = each.advice;
    checks.push_back(std::move(check));
  }
  return visible_json(to_text(Json{{"good", is_well(findings)}, {"checks", checks}})) + "\n";
}

std::string first_lack(const MachineFacts& facts, bool mpi) {
  for (const Finding& each : findings(facts)) {
    if (each.good || !(each.needed || (mpi && each.what == "mpirun"))) continue;
    if (each.what == "root") return "jobs on this machine need root: run it with sudo";
    return each.what + " is missing: " + each.advice + " (see sm doctor)";
  }
  return {};
}

int doctor_main(const Args& args, const Env& given) {
  const command::Page& page = command::page_of("doctor");
  command::Line line(page);
  bool json = false;
  bool probe = false;
  std::string python, engine;
  std::vector<std::string> settings;
  line.flag("--json", json);
  line.flag("--probe", probe);
  line.text("--python", python);
  line.text("--engine", engine);
  line.texts("--slurm", settings);
  if (const std::optional<command::Stop> stop = line.parse(args)) return tell(*stop);
  const Result<std::optional<machine::SlurmCluster>> cluster = slurm_of(engine, settings);
  if (!cluster) return tell(command::wrong_line(page, cluster.error().text));
  if (probe && !*cluster) return tell(command::wrong_line(page, "--probe requires --engine slurm"));
  if (*cluster) return doctor_slurm(given, **cluster, {.probe = probe, .json = json});
  if (python.find('/') != std::string::npos)
    python = absolute(python, current_folder().value_or("/"));
  Env env = given;
  const Result<std::optional<machine::Rootless>> entered = machine::enter_rootless(env);
  MachineFacts machine = machine_facts(env);
  if (!entered) machine.refused = entered.error().text;
  machine.python_asked = python;
  if (!python.empty()) machine.python3 = on_path(python, env);
  std::vector<Finding> found = findings(machine);
  if (is_well(found)) found.push_back(try_job(env, python, machine.no_outside.empty()));
  for (Finding& each : findings(job_facts(env, python))) found.push_back(std::move(each));
  const bool colour = ::isatty(STDOUT_FILENO) == 1 && !env.contains("NO_COLOR");
  const std::string text = json ? findings_json(found) : findings_text(found, colour);
  if (!write_all(STDOUT_FILENO, text)) return exit_platform;
  return is_well(found) ? exit_success : exit_platform;
}

}  // namespace muster::cli
