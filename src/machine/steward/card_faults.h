#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"
#include "job/host_spec.h"
#include "job/wire/journal.h"
#include "os/devices/xid.h"

namespace muster::steward {

/// The numbers of the NVIDIA GPUs that the host has: by its device files, on a light host by what a
/// scheduler's variables in `env` say.
std::vector<int> gpu_numbers_of(const job::HostSpec& spec, const Env& env);

/// Follows what the driver of a host's GPUs writes to the kernel's log. It explains a failure of
/// the host, and never is one.
class CardFaults {
 public:
  /// Follows the GPUs with these numbers, from now on. Error: the log cannot be read, with its
  /// name.
  static Result<CardFaults> follow(const std::vector<int>& gpus);
  /// `log`: each read() gives whole records, and never blocks. `places`: the host's GPUs by their
  /// places on the bus, without the function: ":0b:00".
  CardFaults(Fd log, std::map<std::string, int> places);

  /// Takes what has come, at most a thousand records. `now` must not go back.
  void look(TimePoint now);

  struct Found {
    std::vector<std::string> lines;       ///< As they came, each once, at most eight.
    job::Card card = job::Card::working;  ///< The worst of them.
  };
  /// What came in the last 30 s before the end of a host that failed. It ends within seconds of the
  /// failure.
  Found explaining(TimePoint end) const;

 private:
  struct Seen {
    devices::Xid xid;
    int gpu = 0;
    TimePoint time{};
  };
  Fd log_;
  std::map<std::string, int> places_;
  std::deque<Seen> seen_;  ///< The latest.
};

}  // namespace muster::steward
