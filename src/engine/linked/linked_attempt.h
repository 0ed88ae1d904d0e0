#pragma once

// Inside cluster/ only.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/linked/append_file.h"
#include "engine/linked/linked_host.h"
#include "engine/linked/links.h"
#include "job/wire/message.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/channel.h"

namespace muster::cluster {

/// The engine's side of one attempt: converts the messages of its nodes to events and files.
class LinkedAttempt final : public AttemptLinks {
 public:
  using Trouble = std::function<void(std::string)>;

  /// Error: `system` with a path.
  static Result<std::shared_ptr<LinkedAttempt>> open(loop::Loop& loop, ExpectedNodes attempt,
                                                     job::LinkTiming timing, Trouble trouble);
  LinkedAttempt(loop::Loop& loop, ExpectedNodes attempt, job::LinkTiming timing, Trouble trouble);
  LinkedAttempt(const LinkedAttempt&) = delete;
  LinkedAttempt& operator=(const LinkedAttempt&) = delete;
  ~LinkedAttempt() override;

  loop::Task<Result<LinkEvent>> next_event() override;
  void begin(std::chrono::milliseconds preempt_grace) override;
  void preempted() override;
  void stop(const std::string& host, std::chrono::milliseconds grace) override;
  void end(const std::string& host, const std::string& why) override;
  void give(const std::string& host) override;
  loop::Task<void> forget_results() override;
  void again(const std::string& host, const job::NodeAgain& again) override;
  bool can_go_on(const std::string& host) const override;
  loop::Task<Result<engine::Answer>> ask(std::string host, engine::Question question) override;
  void note(const std::string& host, const std::vector<job::LogLine>& lines) override;
  void done(const std::string& host) override;
  loop::Task<void> flushed(Duration limit) override;
  bool connected(const std::string& host) const override;

  const std::string& key() const { return attempt_.key; }
  bool has(const std::string& host) const { return hosts_.contains(host); }
  /// Uses a connection on which `host` has authenticated; closes an older one.
  void take(const std::string& host, std::unique_ptr<loop::Channel> channel);
  void end_all(const std::string& why);
  /// Called when Links is destroyed: no more connections will arrive.
  void close();

 private:
  struct Host {
    std::string name;
    std::string folder;
    LinkedHost state;
    AppendFile journal;
    AppendFile tar;                          ///< Open while the host's result is being transferred.
    std::shared_ptr<loop::Channel> channel;  ///< The latest; null: the link is closed.
    TimePoint heard;
    UnixMillis heard_time{0};
    std::string address;
    bool signalled = false;                         ///< Kind::signalled was reported.
    std::optional<std::chrono::milliseconds> stop;  ///< The grace period, if a stop was requested.
    std::string why_end;                            ///< The reason for Order::end.
    std::optional<TimePoint> no_room_since{};       ///< Since when the disk is full.
    bool is_spare = false;
    bool measures = false;  ///< The node can report the host's usage.
  };
  /// Shared with the task that waits for an event.
  struct Told {
    explicit Told(loop::Loop& loop) : more(loop) {}
    std::deque<LinkEvent> events;
    bool closed = false;
    loop::Event more;
  };
  /// A question without an answer yet; shared with the task that asks.
  struct Asked {
    explicit Asked(loop::Loop& loop) : answered(loop) {}
    std::string host;
    job::Message by = job::Message::node_stacks;  ///< The type of the answer.
    std::optional<Result<engine::Answer>> answer;
    loop::Event answered;
  };
  using Kind = LinkEvent::Kind;
  using Link = LinkedHost::Link;
  using Presence = LinkedHost::Presence;
  using Steward = LinkedHost::Steward;
  using Order = LinkedHost::Order;
  using Results = LinkedHost::Results;

  Result<void> open_hosts();
  loop::Task<> converse(Host& host, std::shared_ptr<loop::Channel> channel);
  loop::Task<> watch();
  void look_at(Host& host, TimePoint now);
  void tell_silent(Host& host);
  static void hang_up(Host& host);
  static bool runs(const Host& host);
  Result<void> greet(Host& host, const Frame& frame);
  void post_all_asked(Host& host);
  void post_preempted(Host& host);
  Result<void> hear(Host& host, const Frame& frame);
  Result<void> hear_journal(Host& host, const Frame& frame);
  Result<void> hear_result(Host& host, const Frame& frame);
  Result<void> hear_given(Host& host, const Frame& frame);
  Result<void> hear_stacks(Host& host, const Frame& frame);
  Result<void> hear_usage(Host& host, const Frame& frame);
  void answer(Host& host, std::uint64_t id, job::Message by, Result<engine::Answer> answer);
  Result<void> want_result(Host& host);
  loop::Task<> unpack(Host& host);
  void tell_given(Host& host, const std::string& error);
  void give_up(Host& host, const std::string& why);
  void post(Host& host, job::Message message, std::string_view payload = "{}");
  void tell(Host& host, LinkEvent event);
  Host* find(const std::string& host);

  loop::Loop& loop_;
  ExpectedNodes attempt_;
  job::LinkTiming timing_;
  Trouble trouble_;
  /// The scheduler's grace period for a preemption; none while hosts must not run yet.
  std::optional<std::chrono::milliseconds> begun_;
  bool preempted_ = false;
  std::map<std::string, Host> hosts_;
  std::shared_ptr<Told> told_;
  loop::Event unpacked_;
  std::map<std::uint64_t, std::shared_ptr<Asked>> asked_;  ///< By their ids.
  std::uint64_t next_question_ = 1;
  loop::Tasks tasks_;
};

}  // namespace muster::cluster
