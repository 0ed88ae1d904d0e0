#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster::ranks {

/// Finds MPI_Abort in what a rank's program writes to hydra's daemon. Pure.
/// Source: pmi_v1.c of MPICH (PMI-1): a message is a line of KEY=VALUE words, and an abort
/// begins with "cmd=abort" and has exitcode=N.
class AbortFilter {
 public:
  /// The part of `bytes`, and of bytes held back earlier, to forward to the daemon: everything
  /// before an abort.
  std::string pass(std::string_view bytes);
  /// The exit code that the program is about to have, 1 to 255; none as long as it has not aborted.
  std::optional<int> code() const { return code_; }

 private:
  std::string held_;           ///< The beginning of a line that may be an abort.
  bool at_line_start_ = true;  ///< Whether what comes after `held_` begins a line.
  std::optional<int> code_;
};

/// Relays between a rank's program and hydra's daemon, on the descriptor in PMI_FD. On MPI_Abort
/// the daemons kill all ranks at once, including the one that failed, and its exit code is lost. So
/// the relay does not forward an abort, and its owner ends the rank with its code.
class PmiRelay {
 public:
  /// `daemon` is the descriptor that hydra's daemon gave us; without one the relay does nothing.
  /// Error: as socketpair(2).
  static Result<PmiRelay> open(Fd daemon);

  /// The program's end, only for the program: pass it on, then drop it here. Closed if there is no
  /// daemon.
  Fd& programs_end() { return programs_end_; }
  /// Descriptors to poll for reading; -1, which poll(2) passes over, once they are of no use.
  int from_program() const { return program_.get(); }
  int from_daemon() const { return daemon_.get(); }

  /// Passes on what there is; call when poll says that there is something. Blocks no longer than
  /// the other side takes to read a few lines.
  void serve_program();
  void serve_daemon();
  /// Passes on what the program, which has ended, left to be read: `cmd=finalize`, without which
  /// the daemon takes it for one that crashed. Its channel to the daemon stays open.
  void serve_rest();
  std::optional<int> abort_code() const { return filter_.code(); }
  /// From now on the program's end is not the end of its channel to the daemon, by which the daemon
  /// would know of a rank that ended without a word, and kill the others.
  void keep_daemon() { keeps_daemon_ = true; }

 private:
  PmiRelay() = default;
  void close();

  Fd daemon_;
  Fd program_;
  Fd programs_end_;
  AbortFilter filter_;
  bool keeps_daemon_ = false;
};

}  // namespace muster::ranks
