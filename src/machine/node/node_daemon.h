#pragma once

// Inside node/ only.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/log.h"
#include "job/wire/message.h"
#include "job/wire/node_messages.h"
#include "machine/node/host_meter.h"
#include "machine/node/host_steward.h"
#include "machine/node/node_folder.h"
#include "machine/node/node_image.h"
#include "machine/node/schedulers_grace.h"
#include "net/loop/notices.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/channel.h"
#include "os/packing/tar.h"

namespace muster::node {

/// One host of a job on a cluster's node, from its folder to its removal, and the connection to
/// the engine. Protocol: docs/protocols/node-link.md.
class NodeDaemon {
 public:
  struct Options {
    std::string program;  ///< `sm`.
    Env env;              ///< The steward's.
    std::string host;     ///< "algo-2"
    std::string node;
    std::vector<int> gpus{};  ///< The GPUs that the scheduler gave to this step, by its numbers.
    std::string no_root{};    ///< Why this process is not root, not even of its own namespaces.
  };
  /// `folder`: from the job's previous attempt, if this node took part in it; otherwise it is
  /// created.
  NodeDaemon(loop::Loop& loop, job::NodeJob job, Options options, const Log& log,
             std::optional<NodeFolder> folder = std::nullopt);
  NodeDaemon(const NodeDaemon&) = delete;
  NodeDaemon& operator=(const NodeDaemon&) = delete;

  /// Runs to the end, when everything is removed (only the host if again() is set); then stops the
  /// loop.
  loop::Task<> run();
  /// The node's part in the next attempt, run by another NodeDaemon.
  const std::optional<job::NodeAgain>& again() const { return again_; }
  std::optional<NodeFolder> take_folder() { return std::exchange(folder_, std::nullopt); }

 private:
  struct Signalled {
    int signal = 0;
    TimePoint at;
  };
  struct Ended {
    job::Outcome outcome;
    TimePoint at;
  };
  /// The state of the current connection; a new connection starts with a new state.
  struct Said {
    std::uint64_t journal_bytes = 0;  ///< Sent.
    std::uint64_t have = 0;           ///< The number that the engine has.
    std::uint64_t result_bytes = 0;   ///< Sent.
    bool began = false, signalled = false, ended = false, given = false;
    bool wanted = false;  ///< The engine has requested the result.
  };
  enum class Sent { nothing, something };

  loop::Task<> look_around();
  void look_for_tool(const job::Image& image);
  loop::Task<> heed_signals();
  loop::Task<> follow_journal();
  void begin(const job::NodeBegin& begin);
  loop::Task<> prepare_and_start(job::NodeBegin begin);
  loop::Task<Result<void>> take_image();
  loop::Task<Result<void>> take_gpus(int wanted);
  Error complained(const std::string& text) const;
  void start_or_end(const job::NodeBegin& begin);
  Result<void> start_host(const job::NodeBegin& begin);
  void stop(std::chrono::milliseconds grace) { stop(grace, grace); }
  void stop(std::chrono::milliseconds grace, std::chrono::milliseconds most);
  void grant_more();
  loop::Task<> look(job::NodeLook look);
  void measure(const job::NodeMeasure& measure);
  loop::Task<> kill_at(TimePoint deadline);
  void end(job::Outcome outcome);
  void over(const std::string& why);
  loop::Task<> make_folder();
  loop::Task<> clear_up();
  loop::Task<> wait_for_end();
  TimePoint deadline() const;
  std::string why_over() const;
  SchedulersGrace grace() const;

  loop::Task<> keep_connected();
  loop::Task<bool> connect();
  loop::Task<bool> converse(std::shared_ptr<loop::Channel> channel, std::string address);
  loop::Task<> watch(std::shared_ptr<loop::Channel> channel);
  loop::Task<> send(std::shared_ptr<loop::Channel> channel);
  loop::Task<Result<void>> plan_result();
  Result<Sent> send_journal(loop::Channel& channel);
  Result<Sent> send_result(loop::Channel& channel);
  void send_words(loop::Channel& channel);
  Result<void> hear_welcome(const Frame& frame);
  Result<void> hear(const Frame& frame);
  void complain(const std::string& text);
  void say_complaints();

  job::NodeState state() const;
  std::string host_folder() const { return job_.folder + "/" + options_.host; }
  std::string brought_layers() const {
    return job_.image && !job_.image->layers.empty() ? job_.image->layers : job_.folder + ".layer-";
  }
  /// Layers that only this node uses, if any.
  void remove_layers() const;

  loop::Loop& loop_;
  job::NodeJob job_;
  Options options_;
  const Log& log_;
  bool reached_ = false;    ///< The engine has welcomed this node once,
  bool connected_ = false;  ///< and on the current connection.
  std::vector<std::string> complaints_;
  std::size_t complaints_said_ = 0;

  std::optional<NodeFolder> folder_;
  bool begun_ = false;
  std::chrono::milliseconds preempt_grace_{0};
  bool is_preempted_ = false;  ///< The engine knows the reason for the scheduler's signal.
  std::optional<TimePoint> signal_until_;  ///< Like stop_until_, for the scheduler's signal.
  std::vector<int> lacks_;                 ///< Missing layers of the image.
  job::HostDevices devices_;               ///< A container's GPUs.
  Fd image_lock_;                          ///< While it is open, no layer is removed.
  std::string address_here_;               ///< The node's address on the current connection.
  std::deque<std::pair<job::Message, std::string>>
      answers_;                          ///< Answers to questions, not sent yet.
  std::optional<TimePoint> stop_until_;  ///< A stop was requested; the grace ends at this time.
  std::optional<Signalled> signalled_;
  std::optional<Ended> ended_;
  bool over_ = false;
  std::optional<job::NodeAgain> again_;
  TimePoint begun_at_;       ///< When this object was made.
  TimePoint heard_;          ///< When the engine was last heard from.
  std::size_t address_ = 0;  ///< The engine's last working one, by index.
  Said said_;
  Fd journal_;
  std::optional<packing::TarPlan> result_;
  std::string piece_;
  std::unique_ptr<loop::Notices> notices_;
  loop::Event changed_;
  HostSteward steward_;
  std::optional<HostMeter> meter_;  ///< While the host runs.
  loop::Tasks tasks_;
};

}  // namespace muster::node
