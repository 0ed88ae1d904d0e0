#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "container/host_limits.h"
#include "container/id_map.h"
#include "job/host_spec.h"

namespace muster::container {

/// The input for a bundle besides the specification: facts about the machine and the steward.
struct Facts {
  std::string program;              ///< The running `sm`; bind-mounted as sm and train.
  std::string network_namespace;    ///< A path to the namespace, as the runtime sees it.
  std::string user_namespace;       ///< A path as above; empty: the machine's own users.
  std::vector<IdExtent> ids;        ///< The IDs that the user namespace maps.
  bool rootless = false;            ///< See IdMap; control groups are not available then.
  std::vector<std::string> binds;   ///< RootView::binds.
  std::vector<std::string> masks;   ///< Paths in the host that are covered, if they exist.
  std::vector<std::string> staged;  ///< Separate file systems below /opt/ml: "/code".
  job::User user;  ///< The user of PID 1 in a host with an image; other hosts run it as root.
  HostLimits limits;
  std::string
      cpus;  ///< The host's own processors, as cpu_list() names them; empty: all, shared by time.
  bool is_near_gpus = false;            ///< The host runs and has memory where HostSpec::near says.
  std::int64_t processors = 1;          ///< The machine's.
  std::uint64_t open_files_max = 1024;  ///< The steward's own hard limit.
  Args args;  ///< The command of PID 1; empty: `sm init`, which runs `train`.
};

/// One file or folder of the machine that a host sees.
struct Bind {
  std::string source;
  std::string target;
  bool read_only = true;
  bool translated = true;  ///< See mount_bind(). False if the file's owner is already the host's.
  std::optional<job::BoundPath> bound{};  ///< The user's own: see mount_bound().
  bool is_device = false;                 ///< A device that can be opened: see mount_device().

  bool operator==(const Bind&) const = default;
};
/// Paths in ml_folder() that a host sees below /opt/ml; "" means the whole folder. Staged folders
/// are mounted separately. Pure.
std::vector<std::string> ml_places(const job::HostSpec& spec, const Facts& facts);

/// In mount order: a mount inside another one follows it. The bundle finds the i-th at
/// shown_place(i). Pure.
std::vector<Bind> binds(const job::HostSpec& spec, const Facts& facts);

/// The binds of a light host, which sees its machine's files anyway. `program` is the running `sm`.
/// Pure.
std::vector<Bind> light_binds(const job::HostSpec& spec, const std::string& program);

/// The host's first process: `sm init`, which runs the job's program. If the job has its own entry
/// point, the environment does not contain MUSTER_* variables. Pure.
Command first_process(const job::HostSpec& spec, const Facts& facts);

/// As first_process(), for a light host in an image that a program of the machine opens. `enter` is
/// the command of that program and has its environment. Pure.
Command first_process_in(const job::HostSpec& spec, const Facts& facts, Command enter);
/// The job's own variables in the file host_variables_path. `given`: the variables that the machine
/// sets. Pure.
std::string host_variables(const job::HostSpec& spec, const Facts& facts, const Env& given);

/// Descriptors of the container's first process, besides 0 to 2.
constexpr int steward_stream_fd = 3;  ///< Write end of the steward stream.
constexpr int lifeline_fd = 4;  ///< Read end; returns end of file when the steward has exited.
constexpr int preserved_fds = 2;
/// The path of the first process's steward_stream_fd in a light host, where its number can differ.
inline constexpr const char* light_stream_path = "/run/muster/stream";

/// Paths in a host_folder. The first contains everything that a host stores on disk; it is a
/// separate file system if the job limits its size.
std::string disk_folder(const job::HostSpec& spec);
std::string layers_folder(const job::HostSpec& spec);  ///< Upper layers of the host's overlays.
std::string ml_folder(const job::HostSpec& spec);      ///< /opt/ml
std::string bundle_folder(const job::HostSpec& spec);  ///< config.json, and files for /etc
/// A copy of the job's key that an image's user can read.
std::string user_key_file(const job::HostSpec& spec);
/// pip's configuration in the host, if the job has one.
std::string host_pip_conf(const job::HostSpec& spec);
/// "<job>.<tag>-algo-K", the runtime's name of the container; see job::machine_name().
std::string container_id(const job::HostSpec& spec);
/// "/muster/<job>.<tag>"
std::string job_cgroup_path(const job::HostSpec& spec);
/// "/muster/<job>.<tag>/algo-K"
std::string cgroup_path(const job::HostSpec& spec);

/// "muster-<job>.<tag>-algo-K": the group of a host in a scheduler's step, below its steward's.
std::string step_cgroup_name(const job::HostSpec& spec);

/// The OCI description (config.json) of one host. Pure.
/// Source: OCI runtime specification 1.0.2; settings as runc 1.1 takes them.
std::string bundle_config(const job::HostSpec& spec, const Facts& facts);

/// Files next to config.json that are mounted over the machine's own: name -> text ("hosts",
/// "hostname", "resolv.conf"). `machine_hosts`: the machine's /etc/hosts, which a light host also
/// has. Pure.
std::map<std::string, std::string> etc_files(const job::HostSpec& spec,
                                             const std::string& machine_hosts = {});

/// The files in /opt/ml/input/config: name -> text. Pure. Source: SageMaker's "How Amazon SageMaker
/// provides training information".
std::map<std::string, std::string> config_files(const job::HostSpec& spec);

/// The environment of the container's first process; without the MUSTER_* variables if the job has
/// its own entry point. The user's variables take precedence, except over those that muster's own
/// parts need to find each other. Pure.
Env host_environment(const job::HostSpec& spec);

/// The MUSTER_* part of the environment as a file next to config.json, "settings", for a host with
/// its own entry point: job/host_settings.h. Pure.
std::string host_settings(const job::HostSpec& spec);

}  // namespace muster::container
