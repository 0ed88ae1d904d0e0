#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log.h"
#include "engine/linked/links.h"
#include "net/loop/testing.h"
#include "net/sockets/relay.h"
#include "os/supervise/reaper.h"

namespace muster::cluster {

/// One attempt's nodes, each a process of `sm node` on this machine, against Links. A shell script
/// replaces the steward: it reads its orders from a named pipe, and writes "ready" to another.
class Bed {
 public:
  static constexpr const char* nonce = "0123456789abcdef";

  explicit Bed(int hosts);
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;
  ~Bed();

  loop::Loop& loop() { return loop_; }
  void run(loop::Task<> task) { loop::run_task(loop_, std::move(task), std::chrono::seconds(60)); }

  /// The engine's end; a second one goes on at the first one's port, with its files.
  void open_engine();
  void close_engine();
  AttemptLinks& links() { return *attempt_; }
  Links& all_links() { return *links_; }
  ExpectedNodes attempt() const;

  /// Between nodes and engine; nodes that start after it connect through it.
  void open_relay();
  void cut_relay() { relay_.reset(); }
  void join_relay();

  job::NodeJob node_job(const std::string& host) const;
  void start_node(const std::string& host) { start_node(host, node_job(host)); }
  void start_node(const std::string& host, const job::NodeJob& job);
  void start_nodes();
  /// A stop alone does not end stewards that begin from now on; a second one does.
  void stewards_are_stubborn();
  void signal_node(const std::string& host, int number);
  /// Kills it, and blocks until it is dead: nothing of the loop goes on meanwhile.
  void kill_node(const std::string& host);
  /// Waits for its end.
  loop::Task<job::Outcome> ended(std::string host);
  std::string said_by(const std::string& host) const;

  /// The next event, which is to be of that kind.
  loop::Task<LinkEvent> next(LinkEvent::Kind kind);
  /// All nodes joined, began, and their stewards ready.
  loop::Task<> begin(std::chrono::milliseconds preempt_grace = {});
  loop::Task<> ready(std::string host);
  void writes(const std::string& host, const std::string& bytes);
  void leaves(const std::string& host, const std::string& path, const std::string& text);
  void ends(const std::string& host, int code);
  loop::Task<> until_copied(std::string host, std::string bytes);

  std::string node_folder(const std::string& host) const { return folder_ + "/node-" + host; }
  std::string host_folder(const std::string& host) const { return node_folder(host) + "/" + host; }
  std::string copy_folder(const std::string& host) const { return folder_ + "/engine/" + host; }
  std::string copy(const std::string& host) const;
  const std::vector<std::string>& troubles() const { return troubles_; }
  const std::vector<std::string>& hosts() const { return hosts_; }

 private:
  struct Node {
    pid_t pid = 0;
    std::optional<job::Outcome> outcome;
    Fd orders;
    Fd ready;
  };
  std::string steward() const { return folder_ + "/steward"; }

  std::string folder_;
  std::vector<std::string> hosts_;
  loop::Loop loop_;
  supervise::Reaper reaper_;
  loop::Event moved_;
  std::uint16_t port_ = 0;
  std::uint16_t relay_port_ = 0;
  Fd relay_listener_;
  std::unique_ptr<loop::Relay> relay_;
  std::vector<std::string> troubles_;
  std::map<std::string, Node> nodes_;
  std::unique_ptr<Links> links_;
  std::shared_ptr<AttemptLinks> attempt_;
};

bool exists(const std::string& path);

}  // namespace muster::cluster
