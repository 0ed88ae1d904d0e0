#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "container/bundle/runtime.h"
#include "container/child_process.h"
#include "container/id_map.h"
#include "job/host_spec.h"
#include "machine/housing/overruns.h"
#include "net/loop/wait.h"

namespace muster::steward {

/// The steward's objects that a host's housing uses. All of them outlive the housing.
struct HousingContext {
  loop::Loop& loop;
  const job::HostSpec& spec;
  const Env& env;
  FullPlaces& full;  ///< Receives the host's limited file systems as they are created.
  std::function<void(const char* level, const std::string& text)> log;
  std::function<void(const Error&)> not_undone;  ///< Called if something is left on the machine.
};

/// The environment of a host's processes: a container, or only separate mounts and processes (a
/// light host). Call the functions in this order; after any error, call end() and close().
class Housing {
 public:
  virtual ~Housing() = default;

  /// Creates the steward's own mounts, and the folder for all of the host's files.
  virtual Result<void> open() = 0;
  /// Builds the host's root and network; its description (make_host_files()) exists already.
  virtual Result<void> build() = 0;
  /// The map of the host's owners to the machine's; known after build().
  virtual const container::IdMap& ids() const = 0;
  /// Gives restored checkpoints to the program's user; no process of the host runs yet. Blocks in
  /// proportion to the number of files.
  virtual Result<void> give_checkpoints() { return {}; }
  /// Prepares everything that the first process needs to start. `staged`: the separate file systems
  /// in /opt/ml ("/code").
  virtual Result<void> furnish(const std::vector<std::string>& staged) = 0;
  /// Programs to run before start(), one after the other; each may take minutes.
  virtual std::vector<Command> before_start() const { return {}; }
  /// The pipe from the host's `train` to its steward.
  virtual Result<Pipe> make_stream() { return make_pipe(); }
  /// Starts the host's first process: `sm init` over its program.
  virtual loop::Task<Result<container::Process>> start(container::ContainerStdio stdio) = 0;

  /// True if the kernel killed a process of the host for lack of memory; call after the host's end.
  virtual bool out_of_memory() const = 0;
  /// Limits that the host reached, except file systems. `lacked_files`: a program reported too many
  /// open files.
  virtual std::vector<std::string> overruns(bool out_of_memory, bool lacked_files) const = 0;

  /// Ends the host's remaining processes; then none writes to its files.
  virtual loop::Task<> end() = 0;
  /// Call before results are taken. Error: files of the host are lost.
  virtual Result<void> check_disk() const = 0;
  /// Removes everything except kept folders.
  virtual loop::Task<> close() = 0;
};

/// docs/protocols/steward.md, "What a host sees".
std::unique_ptr<Housing> container_housing(HousingContext context);

/// docs/protocols/steward.md, "What a light host sees".
std::unique_ptr<Housing> light_housing(HousingContext context);
/// What the steward adds to a host's specification: where the host is next to its GPUs. For a host
/// on its machine's own network, if its specification has none, the interface with its address and,
/// on a light host, the GPUs that a scheduler's variables in `env` assign to the steward.
job::HostSpec on_this_machine(job::HostSpec spec, const Env& env);

}  // namespace muster::steward
