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
  /// As stop(); what still waits there ends with it.
  ~LoopThread();
  /// Ends the thread. From then on what belongs to the loop may be destroyed from here.
  void stop();
  Loop& loop() { return loop_; }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  struct Busy;
  Loop loop_;
  std::unique_ptr<Busy> busy_;  ///< The loop runs on when nothing waits.
  std::thread thread_;
};

}  // namespace muster::loop
