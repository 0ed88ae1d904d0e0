#include "engine/linked/linked_attempt.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files/remove_tree.h"
#include "net/loop/worker.h"
#include "os/packing/unpack.h"

namespace muster::cluster {
namespace {

using job::Message;

constexpr std::uint64_t result_bytes_max = std::uint64_t{1} << 40;
constexpr std::uint64_t result_entries_max = 10'000'000;
constexpr std::size_t questions_max = 10'000;
/// A node that does not support the field treats it as a stop with a longer grace period than the
/// scheduler's, which has no effect.
constexpr job::NodeStop preemption{job::stop_grace_max, true};
constexpr std::chrono::seconds look_max{18};  ///< A node gives up earlier.
constexpr std::chrono::seconds measure_max{5};

Error out_of_turn(const Frame& frame) {
  return fail(Errc::protocol, "unexpected message of type " + std::to_string(frame.type));
}

std::string result_folder(const std::string& host_folder) {
  return host_folder + "/result";
}
std::string tar_file(const std::string& host_folder) {
  return host_folder + "/result.tar.partial";
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

/// Blocks. `result` gets its name once it is complete. First removes the leftovers of an earlier
/// attempt to unpack.
Result<void> unpack_result(const std::string& host_folder, const std::string& host) {
  const std::string fresh = host_folder + "/.result";
  TRY(remove_tree(fresh));
  if (::mkdir(fresh.c_str(), 0700) != 0) return fail_errno("cannot create " + fresh);
  packing::UnpackLimits limits;
  limits.bytes_max = result_bytes_max;
  limits.entries_max = result_entries_max;
  const std::string tar = tar_file(host_folder);
  const packing::UnpackReport report =
      TRY(packing::unpack(tar, fresh, limits, "result of " + host));
  if (::rename(fresh.c_str(), result_folder(host_folder).c_str()) != 0)
    return fail_errno("cannot rename " + fresh);
  ::unlink(tar.c_str());
  return {};
}

/// Owned, because the connection may end before this coroutine starts.
loop::Task<> flush(std::shared_ptr<loop::Channel> channel) {
  static_cast<void>(co_await channel->flushed());
}

}  // namespace

Result<std::shared_ptr<LinkedAttempt>> LinkedAttempt::open(loop::Loop& loop, ExpectedNodes attempt,
                                                           job::LinkTiming timing,
                                                           Trouble trouble) {
  const std::shared_ptr<LinkedAttempt> made =
      std::make_shared<LinkedAttempt>(loop, std::move(attempt), timing, std::move(trouble));
  TRY(made->open_hosts());
  return made;
}

LinkedAttempt::LinkedAttempt(loop::Loop& loop, ExpectedNodes attempt, job::LinkTiming timing,
                             Trouble trouble)
    : loop_(loop),
      attempt_(std::move(attempt)),
      timing_(timing),
      trouble_(std::move(trouble)),
      told_(std::make_shared<Told>(loop)),
      unpacked_(loop),
      tasks_(loop) {
  tasks_.start(watch());
}

LinkedAttempt::~LinkedAttempt() {
  close();
}

void LinkedAttempt::close() {
  tasks_.end();
  for (auto& [name, host] : hosts_) hang_up(host);
  told_->closed = true;
  told_->more.notify();
}

Result<void> LinkedAttempt::open_hosts() {
  for (const std::string& name : attempt_.hosts) {
    Host& host = hosts_[name];
    host.name = name;
    host.folder = attempt_.folder + "/" + name;
    TRY(make_folders(host.folder, 0700));
    const std::uint64_t from = engine::chapter_of(attempt_.chapters, name);
    host.journal = TRY(AppendFile::open(host.folder + "/journal", from));
  }
  for (const std::string& name : attempt_.spares) {
    Host& spare = hosts_[name];
    spare.name = name;
    spare.is_spare = true;
  }
  return {};
}

LinkedAttempt::Host* LinkedAttempt::find(const std::string& host) {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? nullptr : &found->second;
}

// Connections.

void LinkedAttempt::hang_up(Host& host) {
  host.state.closes();
  if (host.channel) std::exchange(host.channel, nullptr)->close();
}

void LinkedAttempt::take(const std::string& name, std::unique_ptr<loop::Channel> channel) {
  Host* const host = find(name);
  CHECK_THAT(host != nullptr, "a connection of a host that the attempt has not");
  hang_up(*host);
  host->channel = std::move(channel);
  host->state.opens();
  host->heard = Clock::now();
  tasks_.start(converse(*host, host->channel));
}

loop::Task<> LinkedAttempt::converse(Host& host, std::shared_ptr<loop::Channel> channel) {
  Result<void> fine;
  while (fine && host.channel == channel) {
    const Result<Frame> frame = co_await channel->receive();
    if (!frame && frame.error().code != Errc::protocol) break;
    if (host.channel != channel) break;
    if (!frame) {
      fine = frame.error();
      break;
    }
    host.heard = Clock::now();
    host.heard_time = wall_time();
    fine = host.state.link() == Link::greeted ? hear(host, *frame) : greet(host, *frame);
    if (!fine) break;
    // A node that does not read responses is ignored, and soon counts as silent.
    const Result<void> room = co_await channel->room();
    if (!room) break;
  }
  if (host.channel == channel) {
    hang_up(host);
    if (host.state.order() == Order::end) tell_silent(host);  // The node exits.
  }
  if (!fine && trouble_) trouble_(host.name + ": " + fine.error().text);
  channel->close();
}

Result<void> LinkedAttempt::greet(Host& host, const Frame& frame) {
  if (frame.type != job::type_of(Message::node_hello)) return out_of_turn(frame);
  const job::NodeHello hello = TRY(job::node_hello_from(frame.payload));
  host.state.says_hello();
  host.measures = hello.measures;
  if (hello.version != job::node_link_version) {
    give_up(host, "its node uses version " + std::to_string(hello.version) +
                      " of the link protocol (" + hello.muster + "), this process uses version " +
                      std::to_string(job::node_link_version) + " (" MUSTER_VERSION ")");
    return {};
  }
  host.address = hello.address;
  job::NodeWelcome welcome;
  welcome.muster = MUSTER_VERSION;
  welcome.journal_bytes = host.journal.bytes();
  welcome.result_bytes = host.tar ? host.tar.bytes() : 0;
  post(host, Message::node_welcome, job::encode(welcome));
  post_all_asked(host);
  const bool is_new = host.state.presence() == Presence::awaited;
  if (host.state.joins())
    tell(host, is_new ? LinkEvent{.kind = Kind::joined,
                                  .node = hello.node,
                                  .address = hello.address,
                                  .lacks = hello.lacks}
                      : LinkEvent{.kind = Kind::back});
  if (hello.state == job::NodeState::running && host.state.steward_begins())
    tell(host, {.kind = Kind::began});
  return {};
}

void LinkedAttempt::post_all_asked(Host& host) {
  if (host.state.order() == Order::end)
    return post(host, Message::node_end, job::encode(job::NodeEnd{host.why_end}));
  if (host.state.order() == Order::done) return post(host, Message::node_done);
  if (begun_ && !host.is_spare) {
    job::NodeBegin begin;
    begin.preempt_grace = *begun_;
    for (const std::string& name : attempt_.hosts)
      begin.hosts.push_back({name, hosts_.at(name).address});
    post(host, Message::node_begin, job::encode(begin));
  }
  if (preempted_) post_preempted(host);
  if (host.stop) post(host, Message::node_stop, job::encode(job::NodeStop{*host.stop}));
  if (host.state.results() == Results::wanted) post(host, Message::node_give);
}

/// Sends heartbeats, and detects silent nodes.
loop::Task<> LinkedAttempt::watch() {
  loop::Timer timer(loop_);
  TimePoint last = Clock::now();
  while (true) {
    if (!co_await timer.after(timing_.beat)) co_return;
    const TimePoint now = Clock::now();
    // If this process itself did not run, it could not receive anything.
    if (now - last > 3 * timing_.beat)
      for (auto& [name, host] : hosts_) host.heard = now;
    last = now;
    for (auto& [name, host] : hosts_) look_at(host, now);
  }
}

void LinkedAttempt::look_at(Host& host, TimePoint now) {
  const bool is_mute = now - host.heard > timing_.silence;
  if (is_mute) hang_up(host);
  post(host, Message::node_beat);
  if (is_mute && host.state.order() == Order::run) tell_silent(host);
}

void LinkedAttempt::tell_silent(Host& host) {
  if (host.state.falls_silent()) tell(host, {.kind = Kind::silent, .time = host.heard_time});
}

// Messages from nodes.

Result<void> LinkedAttempt::hear(Host& host, const Frame& frame) {
  if (!host.state.is_heeded()) return {};  // Ignored until the node has received the order.
  switch (static_cast<Message>(frame.type)) {
    case Message::node_beat:
      return {};
    case Message::node_began:
      if (host.state.steward_begins()) tell(host, {.kind = Kind::began});
      return {};
    case Message::node_journal:
      return hear_journal(host, frame);
    case Message::node_signalled: {
      const job::NodeSignalled signalled = TRY(job::node_signalled_from(frame.payload));
      if (!std::exchange(host.signalled, true))
        tell(host, {.kind = Kind::signalled, .time = wall_time() - signalled.ago});
      return {};
    }
    case Message::node_ended: {
      const job::NodeEnded ended = TRY(job::node_ended_from(frame.payload));
      if (host.state.steward_ends())
        tell(host,
             {.kind = Kind::ended, .time = wall_time() - ended.ago, .outcome = ended.outcome});
      return {};
    }
    case Message::node_result:
      return hear_result(host, frame);
    case Message::node_given:
      return hear_given(host, frame);
    case Message::node_stacks:
      return hear_stacks(host, frame);
    case Message::node_usage:
      return hear_usage(host, frame);
    default:
      return out_of_turn(frame);
  }
}

Result<void> LinkedAttempt::hear_journal(Host& host, const Frame& frame) {
  const job::NodePiece piece = TRY(job::node_piece_from(frame.payload));
  if (host.state.steward() == Steward::ended || host.is_spare) return out_of_turn(frame);
  if (piece.offset != host.journal.bytes())
    return fail(Errc::protocol, "received journal data for offset " + std::to_string(piece.offset) +
                                    ", but the journal has " +
                                    std::to_string(host.journal.bytes()) + " bytes");
  if (piece.offset + piece.bytes.size() > job::node_journal_bytes_max) {
    give_up(host, "its journal exceeds the size limit");
    return {};
  }
  TRY(host.journal.append(piece.bytes));
  post(host, Message::node_have, job::encode_node_have(host.journal.bytes()));
  return {};
}

Result<void> LinkedAttempt::hear_result(Host& host, const Frame& frame) {
  if (host.state.results() == Results::forgotten) return {};
  const job::NodePiece piece = TRY(job::node_piece_from(frame.payload));
  if (host.state.results() != Results::wanted || piece.offset != host.tar.bytes())
    return out_of_turn(frame);
  if (piece.offset + piece.bytes.size() > result_bytes_max) {
    tell_given(host, "the result is larger than 1 TiB");
    return {};
  }
  Result<void> written = host.tar.append(piece.bytes);
  if (written) {
    host.no_room_since.reset();
    return {};
  }
  const TimePoint now = Clock::now();
  if (!host.no_room_since) host.no_room_since = now;
  // The node keeps the result, and continues the transfer on its next connection.
  if (now - *host.no_room_since < attempt_.room_max) return written;
  tell_given(host, written.error().text);
  return {};
}

Result<void> LinkedAttempt::hear_given(Host& host, const Frame& frame) {
  if (host.state.results() == Results::forgotten) return {};
  const job::NodeGiven given = TRY(job::node_given_from(frame.payload));
  if (host.state.results() != Results::wanted) return out_of_turn(frame);
  if (!given.error.empty()) {
    tell_given(host, given.error);
    return {};
  }
  if (given.bytes != host.tar.bytes()) return out_of_turn(frame);
  host.state.all_came();
  tasks_.start(unpack(host));
  return {};
}

loop::Task<> LinkedAttempt::unpack(Host& host) {
  const std::function<Result<void>()> work = [folder = host.folder, name = host.name] {
    return unpack_result(folder, name);
  };
  const Result<void> unpacked = co_await loop::in_thread(loop_, work);
  tell_given(host, unpacked ? "" : unpacked.error().text);
  unpacked_.notify();
}

void LinkedAttempt::tell_given(Host& host, const std::string& error) {
  host.state.given();
  host.tar = AppendFile();
  tell(host, {.kind = Kind::given, .text = error});
}

/// A node that cannot be used any more.
void LinkedAttempt::give_up(Host& host, const std::string& why) {
  if (host.state.steward_ends())
    tell(host, {.kind = Kind::ended, .outcome = job::Outcome::failed(why)});
  end(host.name, why);
}

// Events for the engine.

void LinkedAttempt::tell(Host& host, LinkEvent event) {
  event.host = host.name;
  if (event.time.count() == 0) event.time = wall_time();
  std::deque<LinkEvent>& events = told_->events;
  const auto of_host = [&](const LinkEvent& told) { return told.host == host.name; };
  const auto last = std::find_if(events.rbegin(), events.rend(), of_host);
  const bool cancels =
      last != events.rend() && ((last->kind == Kind::silent && event.kind == Kind::back) ||
                                (last->kind == Kind::back && event.kind == Kind::silent));
  if (cancels)
    events.erase(std::next(last).base());
  else
    events.push_back(std::move(event));
  told_->more.notify();
}

loop::Task<Result<LinkEvent>> LinkedAttempt::next_event() {
  const std::shared_ptr<Told> told = told_;
  while (told->events.empty()) {
    if (told->closed) co_return fail(Errc::closed, "the links are closed");
    co_await told->more.wait();
  }
  LinkEvent next = std::move(told->events.front());
  told->events.pop_front();
  co_return next;
}

// Requests to nodes.

void LinkedAttempt::post(Host& host, Message message, std::string_view payload) {
  if (host.state.link() == Link::greeted) host.channel->post(job::type_of(message), payload);
}

void LinkedAttempt::begin(std::chrono::milliseconds preempt_grace) {
  for (const auto& [name, host] : hosts_)
    CHECK_THAT(host.is_spare || !host.address.empty(), "hosts begin when all have joined");
  begun_ = preempt_grace;
  for (auto& [name, host] : hosts_) post_all_asked(host);
}

void LinkedAttempt::preempted() {
  preempted_ = true;
  for (auto& [name, host] : hosts_) post_preempted(host);
}

void LinkedAttempt::post_preempted(Host& host) {
  if (!host.is_spare) post(host, Message::node_stop, job::encode(preemption));
}

void LinkedAttempt::stop(const std::string& name, std::chrono::milliseconds grace) {
  Host* const host = find(name);
  if (host == nullptr || (host->stop && *host->stop <= grace)) return;
  host->stop = std::clamp(grace, std::chrono::milliseconds(0),
                          std::chrono::milliseconds(job::stop_grace_max));
  post(*host, Message::node_stop, job::encode(job::NodeStop{*host->stop}));
}

void LinkedAttempt::end(const std::string& name, const std::string& why) {
  Host* const host = find(name);
  if (host == nullptr || !host->state.end()) return;
  host->why_end = why;
  post(*host, Message::node_end, job::encode(job::NodeEnd{why}));
}

void LinkedAttempt::end_all(const std::string& why) {
  for (const auto& [name, host] : hosts_) end(name, why);
}

void LinkedAttempt::give(const std::string& name) {
  Host* const host = find(name);
  if (host == nullptr || host->state.results() != Results::none) return;
  if (exists(result_folder(host->folder))) return tell_given(*host, "");
  if (const Result<void> wanted = want_result(*host); !wanted)
    return tell_given(*host, wanted.error().text);
  post(*host, Message::node_give);
}

loop::Task<void> LinkedAttempt::forget_results() {
  for (auto& [name, host] : hosts_) host.state.forget();
  for (auto& [name, host] : hosts_)
    while (host.state.results() != Results::forgotten) {
      co_await unpacked_.wait();
      host.state.forget();
    }
}

Result<void> LinkedAttempt::want_result(Host& host) {
  host.tar = TRY(AppendFile::open(tar_file(host.folder)));
  host.state.want();
  return {};
}

loop::Task<Result<engine::Answer>> LinkedAttempt::ask(std::string name, engine::Question question) {
  Host* const host = find(name);
  if (host == nullptr || !runs(*host))
    co_return fail(Errc::closed, name + " is not running, or its node is not connected");
  const bool is_usage = engine::is_of_usage(question);
  const bool is_viewed = question == engine::Question::viewed_usage;
  if (question == engine::Question::alive)
    co_return fail(Errc::unsupported,
                   "cannot ping the nodes of a cluster, because they send heartbeats themselves");
  if (is_usage && !host->measures)
    co_return fail(Errc::unsupported, "the host's node runs an older version of muster");
  const auto asked = std::make_shared<Asked>(loop_);
  asked->host = name;
  asked->by = is_usage ? Message::node_usage : Message::node_stacks;
  const std::uint64_t id = next_question_++;
  if (asked_.size() >= questions_max) asked_.erase(asked_.begin());
  asked_[id] = asked;
  if (is_usage)
    post(*host, Message::node_measure, job::encode(job::NodeMeasure{id, is_viewed}));
  else
    post(*host, Message::node_look, job::encode(job::NodeLook{id, engine::calls_of(question)}));
  // From here on, this object may be destroyed, so only the question itself is used.
  const TimePoint deadline = Clock::now() + (is_usage ? measure_max : look_max);
  while (!asked->answer && Clock::now() < deadline) co_await asked->answered.wait_until(deadline);
  if (!asked->answer) co_return fail(Errc::timeout, asked->host + ": its node does not respond");
  co_return *asked->answer;
}

Result<void> LinkedAttempt::hear_stacks(Host& host, const Frame& frame) {
  job::NodeStacks told = TRY(job::node_stacks_from(frame.payload));
  if (told.why.empty())
    answer(host, told.id, Message::node_stacks, engine::Answer(std::move(told.stacks)));
  else
    answer(host, told.id, Message::node_stacks, fail(Errc::closed, told.why));
  return {};
}

Result<void> LinkedAttempt::hear_usage(Host& host, const Frame& frame) {
  const job::NodeUsage told = TRY(job::node_usage_from(frame.payload));
  if (told.why.empty())
    answer(host, told.id, Message::node_usage, engine::Answer(told.usage));
  else
    answer(host, told.id, Message::node_usage, fail(Errc::closed, told.why));
  return {};
}

/// Skips a question whose caller no longer waits.
void LinkedAttempt::answer(Host& host, std::uint64_t id, Message by,
                           Result<engine::Answer> answer) {
  const auto found = asked_.find(id);
  if (found == asked_.end()) return;
  const std::shared_ptr<Asked> asked = found->second;
  if (asked->host != host.name || asked->by != by) return;
  asked_.erase(found);
  asked->answer = std::move(answer);
  asked->answered.notify();
}

/// True if the host's steward is running and its node can be queried.
bool LinkedAttempt::runs(const Host& host) {
  return host.state.link() == Link::greeted && host.state.steward() == Steward::running;
}

void LinkedAttempt::note(const std::string& name, const std::vector<job::LogLine>& lines) {
  Host* const host = find(name);
  if (host == nullptr || !runs(*host)) return;
  for (const job::LogLine& line : lines) post(*host, Message::node_note, job::encode(line));
}

void LinkedAttempt::again(const std::string& name, const job::NodeAgain& again) {
  Host* const host = find(name);
  if (host == nullptr || !can_go_on(name)) return;
  host->state.leave();
  post(*host, Message::node_again, job::encode(again));
}

bool LinkedAttempt::can_go_on(const std::string& name) const {
  return connected(name) && hosts_.at(name).state.order() == Order::run;
}

void LinkedAttempt::done(const std::string& name) {
  Host* const host = find(name);
  if (host == nullptr || !host->state.done()) return;
  post(*host, Message::node_done);
}

loop::Task<void> LinkedAttempt::flushed(Duration limit) {
  loop::Tasks flushes(loop_);
  for (auto& [name, host] : hosts_)
    if (host.state.link() == Link::greeted) flushes.start(flush(host.channel));
  static_cast<void>(co_await flushes.join_until(Clock::now() + limit));
}

bool LinkedAttempt::connected(const std::string& name) const {
  const auto found = hosts_.find(name);
  return found != hosts_.end() && found->second.state.link() == Link::greeted;
}

}  // namespace muster::cluster
