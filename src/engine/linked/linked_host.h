#pragma once

namespace muster::cluster {

/// The state of a host behind a link, and of the requests to its node. Five independent state
/// machines; an event without an edge changes nothing.
///
///     Link:      closed --opens--> open --says_hello--> greeted
///                open, greeted --closes--> closed
///
///     Presence:  awaited, silent --joins--> present --falls_silent--> silent
///
///     Steward:   awaited --steward_begins--> running
///                awaited, running --steward_ends--> ended
///
///     Order:     run --done--> done
///                run, done --end--> end
///                run --leave--> left          (for another attempt)
///
///     Results:   none --want--> wanted --all_came--> unpacking
///                wanted, unpacking --given--> none
///                none, wanted --forget--> forgotten
///
/// A method returns true if it took an edge, so that each event is reported once.
///
/// Pure.
class LinkedHost {
 public:
  enum class Link { closed, open, greeted };
  enum class Presence { awaited, present, silent };
  enum class Steward { awaited, running, ended };
  enum class Order { run, done, end, left };
  enum class Results { none, wanted, unpacking, forgotten };
  LinkedHost() = default;
  LinkedHost(Link link, Presence presence, Steward steward, Order order, Results results)
      : link_(link), presence_(presence), steward_(steward), order_(order), results_(results) {}

  bool opens();
  bool says_hello();
  bool closes();

  bool joins();
  bool falls_silent();

  bool steward_begins();
  bool steward_ends();

  bool done();
  bool end();
  bool leave();

  bool want();
  bool all_came();
  bool given();
  bool forget();

  Link link() const { return link_; }
  Presence presence() const { return presence_; }
  Steward steward() const { return steward_; }
  Order order() const { return order_; }
  Results results() const { return results_; }
  /// True while messages of the node are still accepted.
  bool is_heeded() const { return order_ == Order::run || order_ == Order::done; }

  bool operator==(const LinkedHost&) const = default;

 private:
  Link link_ = Link::closed;
  Presence presence_ = Presence::awaited;
  Steward steward_ = Steward::awaited;
  Order order_ = Order::run;
  Results results_ = Results::none;
};

}  // namespace muster::cluster
