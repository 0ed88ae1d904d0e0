#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "loop/loop.h"

namespace muster::loop {

/// Tells of files below a folder whose writers have ended, by inotify(7). It does not look through
/// folders: whoever does adds them, each before he looks, so that nothing comes between.
class TreeWatch {
 public:
  /// What it tells; all paths are relative to the root, "" is the root itself.
  struct Tell {
    std::function<void(const std::string& file)> written;     ///< Closed, or moved in.
    std::function<void(const std::string& folder)> appeared;  ///< "": events were lost.
  };

  /// Error: `system`.
  static Result<std::unique_ptr<TreeWatch>> open(Loop& loop, Tell tell);
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;
  /// Nothing is told any more.
  ~TreeWatch();

  /// `path` is how to reach the folder. One that is gone needs no watch. Error: `system`, when
  /// there are no more watches to be had, or 4096 folders are watched already, or their paths
  /// have 4 MiB.
  Result<void> add(const std::string& path, const std::string& relative);
  /// Tells now what has come by now.
  void take();

 private:
  struct State;
  explicit TreeWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::loop
