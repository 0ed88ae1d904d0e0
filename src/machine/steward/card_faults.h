#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"
#include "job/host_spec.h"
#include "job/wire/journal.h"
#include "machine/steward/host_processes.h"
#include "os/devices/xid.h"

namespace muster::steward {

/// The numbers of the host's NVIDIA GPUs: from its device files or, on a light host, from the
/// scheduler's variables in `env`.
std::vector<int> gpu_numbers_of(const job::HostSpec& spec, const Env& env);

/// The numbers of these GPUs by bus_name() of their places, as the driver says.
std::map<std::string, int> gpu_places_of(const std::vector<int>& gpus);

/// A program that is killed when this object ends.
class Follower {
 public:
  explicit Follower(pid_t pid) : pid_(pid) {}
  Follower(Follower&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Follower& operator=(Follower&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Follower();

 private:
  pid_t pid_;  ///< 0: none.
};

/// Follows the kernel log's messages from the driver of a host's GPUs. They can explain a failure
/// of the host, but never cause one.
class CardFaults {
 public:
  /// Returns the owner of a process, which the log names by its pid.
  using OwnerOf = std::function<ProcessOwner(std::int64_t pid)>;
  /// Starts following the GPUs with these numbers: in the log itself or, where this process must
  /// not read that, in the journal, by `journalctl` on PATH of `env`. Error: neither can be read;
  /// the text has the log's name.
  static Result<CardFaults> follow(const std::vector<int>& gpus, const Env& env, OwnerOf owner_of);
  enum class Form {
    records,  ///< Each read() returns one whole record of /dev/kmsg.
    journal,  ///< Lines of `journalctl -o json`.
  };
  /// `log`: never blocks. `places`: the bus addresses of the host's GPUs, without the function:
  /// ":0b:00".
  CardFaults(Fd log, std::map<std::string, int> places, OwnerOf owner_of,
             Form form = Form::records);

  /// Reads the available records, at most a thousand. `now` must not go back.
  void look(TimePoint now);

  /// The end of a rank, or of the host's own program, that failed.
  struct Failure {
    int rank = -1;  ///< -1: no rank.
    TimePoint time{};
    std::set<int> gpus{};  ///< The cards that it used; empty: unknown.
  };
  struct Found {
    std::vector<std::string> lines;       ///< In order of arrival, each once, at most eight.
    job::Card card = job::Card::working;  ///< The worst state among them.
  };
  /// The messages within 30 s of one of the failures, about the failed rank's own process. The card
  /// decides for a message that names no process, or one of which no rank is known.
  Found explaining(const std::vector<Failure>& failures) const;

 private:
  struct Seen {
    devices::Xid xid;
    int gpu = 0;
    ProcessOwner owner{};
    TimePoint time{};
  };
  static bool explains(const Seen& seen, const Failure& failure);
  /// A record, or some lines. False: there are no more now.
  bool read_once(TimePoint now);
  void take(std::string_view record, TimePoint now);

  Fd log_;
  Form form_;
  std::string line_;                  ///< The start of a line of the journal.
  std::optional<Follower> follower_;  ///< Writes the journal's lines.
  std::map<std::string, int> places_;
  OwnerOf owner_of_;
  std::deque<Seen> seen_;  ///< The latest messages.
};

}  // namespace muster::steward
