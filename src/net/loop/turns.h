#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "net/loop/loop.h"

namespace muster::loop {

/// Lets only a few tasks work at once, and shares the places among parties in turn: a party with
/// many requests waits behind its own, not in front of others'. Tasks wait without a thread, on any
/// loops and threads. It outlives its turns, and the tasks that wait for one.
class Turns {
 public:
  struct Limits {
    std::size_t at_once = 1;
    std::size_t of_party = 1;           ///< At once; fewer than all, so that others find a place.
    std::size_t waiting_of_party = 64;  ///< More are refused.
  };
  explicit Turns(Limits limits) : limits_(limits) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// A place, until it leaves scope.
  class Turn {
   public:
    Turn(Turns& turns, std::string party) : turns_(&turns), party_(std::move(party)) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), party_(std::move(other.party_)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->leave(party_);
    }

   private:
    Turns* turns_;
    std::string party_;
  };
  /// Waits for a place. `here` is the caller's loop. Error: `denied` if too many tasks of `party`
  /// wait already.
  Task<Result<Turn>> take(Loop& here, std::string party);

 private:
  struct Waiter;
  class Queued;
  struct Party {
    std::size_t running = 0;
    std::deque<std::shared_ptr<Waiter>> waiting;
  };
  using Parties = std::map<std::string, Party>;

  void leave(const std::string& party);
  void give_places();
  Parties::iterator next_party();

  const Limits limits_;
  std::mutex mutex_;
  std::size_t running_ = 0;
  Parties parties_;   ///< Parties that have a place or wait for one.
  std::string last_;  ///< The party that last got a place; the one after it is next.
};

}  // namespace muster::loop
