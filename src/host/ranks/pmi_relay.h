#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace muster::ranks {

/// Finds MPI_Abort in the data that a rank's program writes to hydra's daemon. Pure. Source:
/// pmi_v1.c of MPICH (PMI-1): a message is a line of KEY=VALUE words, and an abort begins with
/// "cmd=abort" and has exitcode=N.
class AbortFilter {
 public:
  /// The part of `bytes`, and of bytes held back earlier, to forward to the daemon: everything
  /// before an abort.
  std::string pass(std::string_view bytes);
  /// The exit code of the program's abort, 1 to 255; none while it has not aborted.
  std::optional<int> code() const { return code_; }

 private:
  std::string held_;           ///< The beginning of a line that may be an abort.
  bool at_line_start_ = true;  ///< Whether the data after `held_` starts a line.
  std::optional<int> code_;
};

/// Relays between a rank's program and hydra's daemon, on the descriptor in PMI_FD. On MPI_Abort
/// the daemons kill all ranks at once, including the one that failed, and its exit code is lost. So
/// the relay does not forward an abort, and its owner ends the rank with its code.
class PmiRelay {
 public:
  /// `daemon` is the descriptor from hydra's daemon; without one the relay does nothing. Error: as
  /// socketpair(2).
  static Result<PmiRelay> open(Fd daemon);

  /// The program's end of the channel: pass it on, then close it here. Closed if there is no
  /// daemon.
  Fd& programs_end() { return programs_end_; }
  /// Descriptors to poll for reading; -1, which poll(2) ignores, once they are not needed.
  int from_program() const { return program_.get(); }
  int from_daemon() const { return daemon_.get(); }

  /// Passes on the available data; call it when poll() reports input. Blocks at most until the
  /// other side has read a few lines.
  void serve_program();
  void serve_daemon();
  /// Passes on the remaining data of the ended program: without `cmd=finalize`, the daemon would
  /// treat it as crashed. The channel to the daemon stays open.
  void serve_rest();
  std::optional<int> abort_code() const { return filter_.code(); }
  /// From now on the program's end does not close its channel to the daemon. Otherwise the daemon
  /// would notice a rank that ended without a message, and kill the others.
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
