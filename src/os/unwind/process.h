#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "os/unwind/elf.h"
#include "os/unwind/mappings.h"
#include "os/unwind/snapshot.h"
#include "os/unwind/walk.h"

namespace muster::unwind {

/// The names of functions in files, read once for all processes that have a file mapped; of at most
/// so many files that their tables take 256 MiB.
class Files {
 public:
  /// What is known of the file that begins at `first` in a process: looked for below the process's
  /// root, and used only if it begins with what the process has there. Else, nothing is known.
  const SectionFacts& facts_of(pid_t pid, const Mapping& first, Memory& memory);

 private:
  std::map<std::tuple<std::string, std::uint64_t, std::string>, SectionFacts> all_;
  std::size_t room_ = 256u << 20;
};

/// A call as people know it.
struct NamedCall {
  std::string function;  ///< "MPI_Barrier"; where no name is known its address in `file`, in hex.
  std::string file;      ///< The path of the program or library, as the process sees it.
};

/// A process, to make calls of its threads' snapshots. Reads its memory and its files; stops
/// nothing. `files` must live as long.
class Process {
 public:
  Process(pid_t pid, Files& files);

  Walk walk(const Snapshot& snapshot);
  /// One for each frame.
  std::vector<NamedCall> names(const Walk& walk);
  /// A number of what the frames from the one numbered `from` outwards hold: their part of the
  /// stack and the registers that their calls must keep; of the innermost one all registers, and
  /// what is a little below the stack pointer. Alike
  /// twice: nothing of that has changed.
  std::uint64_t state(const Walk& walk, std::size_t from, const Snapshot& snapshot);

 private:
  struct Module {
    const Mapping* first = nullptr;  ///< Null: what is there belongs to no file.
    Image image;
    bool is_known = false;
    bool is_indexed = false;
    RecordIndex index;
  };

  Module& module_at(const Mapping& mapping);
  std::optional<CallFrame> call_frame_at(std::uint64_t pc);
  NamedCall name(const Frame& frame);

  pid_t pid_;
  Files& files_;
  ProcessMemory memory_;
  std::vector<Mapping> mappings_;
  std::map<std::uint64_t, Module> modules_;  ///< By where each begins.
};

}  // namespace muster::unwind
