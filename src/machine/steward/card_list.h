#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/fd.h"
#include "base/time.h"
#include "container/child_process.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::steward {

/// The folder in which the stewards of a machine share one list: /run/muster for root; for an
/// ordinary user, the job's own folder, whose hosts then have one list.
std::string card_list_folder(const std::string& job_folder);

/// The processes that hold memory of this machine's GPUs, listed every five seconds by the driver's
/// tool. Of all stewards with the same folder, one runs the tool and writes the list to a file for
/// the others (docs/decisions/0059-gpu-figures.md). If this steward ends, another one takes over.
class CardList {
 public:
  /// A list: lines of devices::compute_apps_command(), and the time when it was printed. The same
  /// list can come again, with more lines.
  using Take = std::function<void(const std::string& list, TimePoint time)>;
  /// `env`: finds the tool. `folder`: exists, and only this process's user can write to it.
  /// `interval`: how often a reader looks at the file.
  CardList(loop::Loop& loop, Env env, const std::string& folder, Take take,
           Duration interval = std::chrono::seconds(5));
  CardList(const CardList&) = delete;
  CardList& operator=(const CardList&) = delete;
  ~CardList() { end(); }

  /// Takes another steward's list now, if there is a newer one.
  void catch_up();
  /// Ends the tool. No list comes after that.
  void end();

 private:
  loop::Task<> watch();
  bool try_lock();
  loop::Task<bool> run_tool();
  loop::Task<> read_lists(Fd out);
  void add(std::string_view text, TimePoint now);

  loop::Loop& loop_;
  const Env env_;
  const std::string file_;
  const Take take_;
  const Duration interval_;
  bool ended_ = false;
  Fd lock_;                                 ///< Held by the steward that runs the tool.
  std::optional<container::Process> tool_;  ///< While it runs.
  std::string list_;                        ///< The last list, and the time of its first line.
  TimePoint time_{};
  loop::Tasks tasks_;
};

}  // namespace muster::steward
