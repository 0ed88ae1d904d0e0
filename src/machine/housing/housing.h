#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "container/bundle/runtime.h"
#include "container/id_map.h"
#include "container/process.h"
#include "job/host_spec.h"
#include "machine/housing/overruns.h"
#include "net/loop/wait.h"

namespace muster::steward {

/// What of its steward the housing of a host uses. All of it outlives the housing.
struct HousingContext {
  loop::Loop& loop;
  const job::HostSpec& spec;
  const Env& env;
  FullPlaces& full;  ///< Limited file systems of the host, as they are made.
  std::function<void(const char* level, const std::string& text)> log;
  std::function<void(const Error&)> not_undone;  ///< Something is left on the machine.
};

/// What a host's processes run in: a separate container, or only separate mounts and processes (a
/// light host). Call the functions in their order; after any error, call end() and close().
class Housing {
 public:
  virtual ~Housing() = default;

  /// Begins the steward's own mounts, and the folder that all of the host's files go to.
  virtual Result<void> open() = 0;
  /// The host's root and network; its description (make_host_files()) is there.
  virtual Result<void> build() = 0;
  /// The map of the host's owners to the machine's; known after build().
  virtual const container::IdMap& ids() const = 0;
  /// Makes checkpoints that were brought back the program's user's; nothing of the host runs yet.
  /// Blocks for as long as there are files.
  virtual Result<void> give_checkpoints() { return {}; }
  /// Prepares everything that the first process needs to start. `staged`: the separate file systems
  /// in /opt/ml ("/code").
  virtual Result<void> furnish(const std::vector<std::string>& staged) = 0;
  /// What is to be run before start(), one after the other; each may take minutes.
  virtual std::vector<Command> before_start() const { return {}; }
  /// The pipe by which the host's `train` speaks to its steward.
  virtual Result<Pipe> make_stream() { return make_pipe(); }
  /// Starts the host's first process: `sm init` over its program.
  virtual loop::Task<Result<container::Process>> start(container::ContainerStdio stdio) = 0;

  /// True if the kernel killed a process of the host's for memory; after its end.
  virtual bool out_of_memory() const = 0;
  /// Limits that the host met, but for file systems. `lacked_files`: a program said that it might
  /// open no more.
  virtual std::vector<std::string> overruns(bool out_of_memory, bool lacked_files) const = 0;

  /// Ends what is left of the host's processes; nothing writes to its files any more.
  virtual loop::Task<> end() = 0;
  /// Error: files of the host are lost. Before results are taken.
  virtual Result<void> check_disk() const = 0;
  /// Takes away all but what was kept.
  virtual loop::Task<> close() = 0;
};

/// docs/protocols/steward.md, "What a host sees".
std::unique_ptr<Housing> container_housing(HousingContext context);

/// docs/protocols/steward.md, "What a light host sees".
std::unique_ptr<Housing> light_housing(HousingContext context);
/// What a host on its machine's own network finds there, where its specification names none: the
/// interface that has its address, and on a light host the GPUs that a scheduler's variables in
/// `env` give to the steward.
job::HostSpec on_this_machine(job::HostSpec spec, const Env& env);

}  // namespace muster::steward
