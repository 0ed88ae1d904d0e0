#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/loop/loop.h"

namespace muster::loop {

/// Reports files below a folder when their writers close them, by inotify(7). It does not read
/// folders: the caller adds each folder before reading it, so that no file is missed in between.
class TreeWatch {
 public:
  /// The events; all paths are relative to the root, "" is the root itself.
  struct Tell {
    std::function<void(const std::string& file)> written;     ///< Closed, or moved in.
    std::function<void(const std::string& folder)> appeared;  ///< "": events were lost.
  };

  /// Error: `system`.
  static Result<std::unique_ptr<TreeWatch>> open(Loop& loop, Tell tell);
  TreeWatch(const TreeWatch&) = delete;
  TreeWatch& operator=(const TreeWatch&) = delete;
  /// After this, no callback is called.
  ~TreeWatch();

  /// `path` opens the folder. A folder that no longer exists needs no watch. Error: `system` if the
  /// limit of watches is reached, 4096 folders are already watched, or their paths take 4 MiB.
  Result<void> add(const std::string& path, const std::string& relative);
  /// Reports the events that have arrived so far.
  void take();

 private:
  struct State;
  explicit TreeWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace muster::loop
