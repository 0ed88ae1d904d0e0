#pragma once

#include <string>
#include <vector>

#include "container/child_process.h"
#include "job/host_spec.h"
#include "net/loop/wait.h"

namespace muster::container {

/// The descriptors of a container's first process, besides /dev/null as 0.
struct ContainerStdio {
  Fd out;             ///< Becomes 1.
  Fd err;             ///< Becomes 2.
  Fd steward_stream;  ///< Becomes steward_stream_fd.
  Fd lifeline;        ///< Becomes lifeline_fd.
};

/// runc(8), always as a separate process. Its state is in /run/muster/runc.
class Runtime {
 public:
  /// Searches PATH and the system's folders for `runc`. Error: `not_found`, with the package to
  /// install.
  static Result<Runtime> find(const Env& env);

  /// Starts the container of the bundle in bundle_folder(spec). The caller is a child subreaper:
  /// the container's init becomes its child. Errors: `system` with runc's own reason in one line;
  /// `timeout` after a minute; `invalid_input` if a container with this name exists, which is not
  /// changed. A container that did not start is removed.
  loop::Task<Result<Process>> start(loop::Loop& loop, const job::HostSpec& spec,
                                    ContainerStdio stdio) const;
  /// Kills its remaining processes and removes it; succeeds if it does not exist. `log_folder`
  /// exists.
  loop::Task<Result<void>> remove(loop::Loop& loop, std::string id, std::string log_folder) const;

 private:
  explicit Runtime(std::string program) : program_(std::move(program)) {}
  loop::Task<Result<void>> call(loop::Loop& loop, Args args, std::string log,
                                ContainerStdio stdio) const;

  std::string program_;
};

/// Removes the runtime's record of a container whose first process has ended, and thereby all of
/// its processes. The caller removes its cgroup. Unlike Runtime::remove(), starts no program.
Result<void> forget_ended(const std::string& id);

/// A container that the runtime has a record of, whether it is running or not.
struct KnownContainer {
  std::string id;
  std::string bundle;  ///< The bundle's folder; empty if the runtime's record cannot be read.
};
std::vector<KnownContainer> known_containers();

/// The last error in a log that runc wrote as JSON lines; empty without one. Pure.
std::string runtime_error(std::string_view log);

}  // namespace muster::container
