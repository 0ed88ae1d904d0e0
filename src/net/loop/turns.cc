#include "net/loop/turns.h"

#include <algorithm>
#include <iterator>

#include "net/loop/wait.h"

namespace muster::loop {

struct Turns::Waiter {
  explicit Waiter(Loop& home) : here(home), woken(home) {}
  Loop& here;
  bool has_place = false;  ///< Guarded by the mutex.
  bool is_awake = false;   ///< Like has_place, but used only on the waiter's own loop.
  Event woken;
};

/// A waiter in its party's queue, until its task gets a place or is destroyed.
class Turns::Queued {
 public:
  Queued(Turns& turns, std::string party, std::shared_ptr<Waiter> waiter)
      : turns_(turns), party_(std::move(party)), waiter_(std::move(waiter)) {}
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;
  ~Queued() {
    if (took_) return;
    {
      const std::lock_guard lock(turns_.mutex_);
      if (!waiter_->has_place) {
        const auto party = turns_.parties_.find(party_);
        std::erase(party->second.waiting, waiter_);
        if (party->second.running == 0 && party->second.waiting.empty())
          turns_.parties_.erase(party);
        return;
      }
    }
    turns_.leave(party_);
  }
  Turn take_place() {
    took_ = true;
    return Turn(turns_, party_);
  }

 private:
  Turns& turns_;
  std::string party_;
  std::shared_ptr<Waiter> waiter_;
  bool took_ = false;
};

Task<Result<Turns::Turn>> Turns::take(Loop& here, std::string party) {
  auto waiter = std::make_shared<Waiter>(here);
  {
    const std::lock_guard lock(mutex_);
    Party& own = parties_[party];
    if (own.waiting.size() >= limits_.waiting_of_party)
      co_return fail(Errc::denied,
                     "too many requests with this access key are waiting; "
                     "try again later");
    own.waiting.push_back(waiter);
    give_places();
  }
  Queued queued(*this, std::move(party), waiter);
  while (!waiter->is_awake) co_await waiter->woken.wait();
  co_return queued.take_place();
}

void Turns::leave(const std::string& party) {
  const std::lock_guard lock(mutex_);
  const auto own = parties_.find(party);
  --running_;
  if (--own->second.running == 0 && own->second.waiting.empty()) parties_.erase(own);
  give_places();
}

/// The next party, after the last one served, that waits for a place and may get one; end() if
/// none.
Turns::Parties::iterator Turns::next_party() {
  const auto may = [this](const auto& each) {
    return !each.second.waiting.empty() && each.second.running < limits_.of_party;
  };
  const auto middle = parties_.upper_bound(last_);
  const auto found = std::find_if(middle, parties_.end(), may);
  if (found != parties_.end()) return found;
  const auto before = std::find_if(parties_.begin(), middle, may);
  return before == middle ? parties_.end() : before;
}

/// The caller holds the mutex. A waiter's loop exists, because its task leaves the queue before
/// that ends.
void Turns::give_places() {
  while (running_ < limits_.at_once) {
    const auto party = next_party();
    if (party == parties_.end()) return;
    const std::shared_ptr<Waiter> waiter = std::move(party->second.waiting.front());
    party->second.waiting.pop_front();
    ++party->second.running;
    ++running_;
    last_ = party->first;
    waiter->has_place = true;
    waiter->here.post([waiter] {
      waiter->is_awake = true;
      waiter->woken.notify();
    });
  }
}

}  // namespace muster::loop
