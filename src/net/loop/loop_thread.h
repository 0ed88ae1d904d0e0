#pragma once

#include <memory>
#include <thread>

#include "net/loop/loop.h"

namespace muster::loop {

/// A loop on its own thread, which lives as long as this object. Other threads reach it by
/// loop().post() and run_on() (net/loop/other_loop.h).
class LoopThread {
 public:
  LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  /// As stop(); tasks that are still waiting end with the loop.
  ~LoopThread();
  /// Ends the thread. Afterwards, the caller may destroy objects that belong to the loop.
  void stop();
  Loop& loop() { return loop_; }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  struct Busy;
  Loop loop_;
  std::unique_ptr<Busy> busy_;  ///< Keeps the loop running while nothing waits.
  std::thread thread_;
};

}  // namespace muster::loop
