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

/// Limits how many tasks work at the same time, and assigns the places to parties in turn, so that
/// a party with many requests delays only its own. Tasks wait without blocking a thread, on any
/// loop and thread. This object must outlive its turns and the waiting tasks.
class Turns {
 public:
  struct Limits {
    std::size_t at_once = 1;
    std::size_t of_party = 1;           ///< Places of one party; fewer than all.
    std::size_t waiting_of_party = 64;  ///< Further tasks of the party are refused.
  };
  explicit Turns(Limits limits) : limits_(limits) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  /// Holds a place until it is destroyed.
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
