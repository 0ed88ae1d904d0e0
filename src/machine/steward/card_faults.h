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

/// The numbers of the host's NVIDIA GPUs: from its device files or, on a light host, from the
/// scheduler's variables in `env`.
std::vector<int> gpu_numbers_of(const job::HostSpec& spec, const Env& env);

/// Follows the kernel log's messages from the driver of a host's GPUs. They can explain a failure
/// of the host, but never cause one.
class CardFaults {
 public:
  /// Starts following the GPUs with these numbers. Error: the log cannot be read; the text has its
  /// name.
  static Result<CardFaults> follow(const std::vector<int>& gpus);
  /// `log`: each read() returns whole records and never blocks. `places`: the bus addresses of the
  /// host's GPUs, without the function: ":0b:00".
  CardFaults(Fd log, std::map<std::string, int> places);

  /// Reads the available records, at most a thousand. `now` must not go back.
  void look(TimePoint now);

  struct Found {
    std::vector<std::string> lines;       ///< In order of arrival, each once, at most eight.
    job::Card card = job::Card::working;  ///< The worst state among them.
  };
  /// The messages of the last 30 s before the end of a failed host. The host ends within seconds of
  /// the failure.
  Found explaining(TimePoint end) const;

 private:
  struct Seen {
    devices::Xid xid;
    int gpu = 0;
    TimePoint time{};
  };
  Fd log_;
  std::map<std::string, int> places_;
  std::deque<Seen> seen_;  ///< The latest messages.
};

}  // namespace muster::steward
