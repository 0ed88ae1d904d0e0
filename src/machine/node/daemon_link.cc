// The node daemon's connection to the engine.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "base/backoff.h"
#include "base/text.h"
#include "machine/node/node_daemon.h"
#include "net/loop/worker.h"
#include "net/sockets/tls.h"
#include "os/packing/listing.h"
#include "os/supervise/start_steward.h"

namespace muster::node {
namespace {

using job::Message;

constexpr Backoff::Options pauses{std::chrono::milliseconds(100), std::chrono::seconds(5)};
constexpr std::chrono::seconds connect_max{5};
constexpr std::size_t why_bytes_max = 200;

std::chrono::milliseconds since(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - time);
}

void post(loop::Channel& channel, Message message, std::string_view payload = "{}") {
  channel.post(job::type_of(message), payload);
}

bool is_ipv4(const std::string& address) {
  return address.find(':') == std::string::npos;
}

}  // namespace

loop::Task<> NodeDaemon::keep_connected() {
  Backoff backoff(pauses);
  loop::Timer pause(loop_);
  while (!over_) {
    const bool welcomed = co_await connect();
    if (over_) co_return;
    if (welcomed) backoff.reset();
    say_complaints();
    static_cast<void>(co_await pause.after(backoff.next(random_chance())));
  }
}

/// Tries each address, the last working one first. False: no engine accepted the connection.
loop::Task<bool> NodeDaemon::connect() {
  for (std::size_t i = 0; i < job_.addresses.size() && !over_; ++i) {
    const std::size_t chosen = (address_ + i) % job_.addresses.size();
    const std::string address = job_.addresses[chosen];
    std::string identity = job::encode(job::NodeIdentity{job_.nonce, options_.host});
    Result<loop::TlsPeer> peer = co_await loop::tls_connect(
        loop_, address, job_.port, std::move(identity), job_.key, Clock::now() + connect_max);
    const std::string where = address + " port " + std::to_string(job_.port);
    if (!peer) {
      complain("cannot reach the engine at " + where + ": " + peer.error().text + "; still trying");
      continue;
    }
    if (!is_ipv4(peer->own_address)) {
      complain("the engine at " + where + " can only be reached over IPv6, but hosts require IPv4");
      continue;
    }
    std::shared_ptr<loop::Channel> channel = std::move(peer->channel);
    const bool welcomed = co_await converse(channel, peer->own_address);
    if (!welcomed) continue;
    address_ = chosen;
    co_return true;
  }
  co_return false;
}

/// Runs to the end of the connection. False: it ended before a welcome.
loop::Task<bool> NodeDaemon::converse(std::shared_ptr<loop::Channel> channel, std::string address) {
  said_ = Said{};
  heard_ = Clock::now();
  job::NodeHello hello;
  hello.muster = MUSTER_VERSION;
  hello.node = options_.node;
  hello.address = address;
  hello.state = state();
  hello.lacks = lacks_;
  hello.measures = true;
  address_here_ = address;
  post(*channel, Message::node_hello, job::encode(hello));
  loop::Tasks connection(loop_);
  connection.start(watch(channel));
  bool welcomed = false;
  while (!over_) {
    const Result<Frame> frame = co_await channel->receive();
    if (!frame) break;
    heard_ = Clock::now();
    const bool is_end = frame->type == job::type_of(Message::node_end);
    const Result<void> heard = welcomed || is_end ? hear(*frame) : hear_welcome(*frame);
    if (!heard) {
      complain("the engine: " + heard.error().text);
      break;
    }
    if (!welcomed) connection.start(send(channel));
    welcomed = true;
    reached_ = true;
    connected_ = true;
  }
  connection.end();
  channel->close();
  connected_ = false;
  changed_.notify();
  co_return welcomed;
}

/// Heartbeats in both directions.
loop::Task<> NodeDaemon::watch(std::shared_ptr<loop::Channel> channel) {
  loop::Timer timer(loop_);
  TimePoint last = Clock::now();
  bool is_heard = true;
  while (is_heard) {
    const bool in_time = co_await timer.after(job_.timing.beat);
    if (!in_time) co_return;
    const TimePoint now = Clock::now();
    if (now - last > 3 * job_.timing.beat)
      heard_ = now;  // A process that did not run could not receive anything.
    last = now;
    is_heard = now - heard_ <= job_.timing.silence;
    if (is_heard) post(*channel, Message::node_beat);
  }
  channel->close();
}

// The engine's messages.

Result<void> NodeDaemon::hear_welcome(const Frame& frame) {
  if (frame.type != job::type_of(Message::node_welcome))
    return fail(Errc::protocol, "expected a \"welcome\" message, got a message of type " +
                                    std::to_string(frame.type));
  const job::NodeWelcome welcome = TRY(job::node_welcome_from(frame.payload));
  if (welcome.version != job::node_link_version)
    return fail(Errc::protocol, "the engine uses version " + std::to_string(welcome.version) +
                                    " of the link protocol, but this node uses version " +
                                    std::to_string(job::node_link_version) +
                                    " (muster " MUSTER_VERSION ")");
  struct stat status {};
  const bool is_there = ::stat((host_folder() + "/journal").c_str(), &status) == 0;
  const std::uint64_t bytes = is_there ? static_cast<std::uint64_t>(status.st_size) : 0;
  if (welcome.journal_bytes > bytes)
    over("the engine has a journal from another start of this host");
  said_.journal_bytes = welcome.journal_bytes;
  said_.have = welcome.journal_bytes;
  said_.result_bytes = welcome.result_bytes;
  return {};
}

Result<void> NodeDaemon::hear(const Frame& frame) {
  switch (static_cast<Message>(frame.type)) {
    case Message::node_beat:
      return {};
    case Message::node_have: {
      const std::uint64_t have = TRY(job::node_have_from(frame.payload));
      if (have < said_.have || have > said_.journal_bytes)
        return fail(Errc::protocol,
                    "the engine reports more journal bytes than this node has sent");
      said_.have = have;
      break;
    }
    case Message::node_begin:
      begin(TRY(job::node_begin_from(frame.payload)));
      break;
    case Message::node_stop: {
      const job::NodeStop asked = TRY(job::node_stop_from(frame.payload));
      if (asked.is_preemption)
        grant_more();
      else
        stop(asked.grace);
      break;
    }
    case Message::node_look:
      tasks_.start(look(TRY(job::node_look_from(frame.payload))));
      return {};
    case Message::node_measure:
      measure(TRY(job::node_measure_from(frame.payload)));
      break;
    case Message::node_note: {
      const job::LogLine line = TRY(job::log_from(frame.payload));
      tasks_.start(supervise::tell_steward(loop_, host_folder(), {line}));
      return {};
    }
    case Message::node_give:
      said_.wanted = true;
      said_.given = false;
      break;
    case Message::node_done:
      over("");
      break;
    case Message::node_end: {
      const job::NodeEnd end = TRY(job::node_end_from(frame.payload));
      over("the engine is stopping this host: " + end.why);
      break;
    }
    case Message::node_again:
      again_ = TRY(job::node_again_from(frame.payload));
      over("");
      break;
    default:
      return fail(Errc::protocol, "unexpected message of type " + std::to_string(frame.type));
  }
  changed_.notify();
  return {};
}

// The node's messages.

loop::Task<> NodeDaemon::send(std::shared_ptr<loop::Channel> channel) {
  piece_.reserve(job::node_piece_header_bytes + job::node_piece_bytes_max);
  while (!over_) {
    send_words(*channel);
    Result<Sent> sent = send_journal(*channel);
    if (sent && *sent == Sent::nothing && said_.wanted && said_.ended && !said_.given) {
      const Result<void> planned = co_await plan_result();
      sent = planned ? send_result(*channel) : planned.error();
      if (!sent) {
        said_.given = true;
        complain(sent.error().text);
        post(*channel, Message::node_given, job::encode(job::NodeGiven{0, sent.error().text}));
        continue;
      }
    }
    if (!sent) {  // The disk failed: without its journal the host's work is lost.
      log_.error(sent.error().text);
      over("the journal cannot be read");
      co_return;
    }
    if (*sent == Sent::nothing) {
      co_await changed_.wait();
      continue;
    }
    const Result<void> room = co_await channel->room();
    if (!room) co_return;
  }
}

loop::Task<> NodeDaemon::look(job::NodeLook look) {
  const Result<job::HostStacks> stacks =
      co_await supervise::ask_steward_for_stacks(loop_, host_folder(), look.calls);
  job::NodeStacks answer{.id = look.id};
  if (stacks)
    answer.stacks = *stacks;
  else
    answer.why = to_utf8(stacks.error().text.substr(0, why_bytes_max));
  answers_.emplace_back(Message::node_stacks, job::encode(answer));
  changed_.notify();
}

void NodeDaemon::measure(const job::NodeMeasure& measure) {
  job::NodeUsage answer{.id = measure.id};
  const std::optional<pid_t> steward = steward_.pid();
  const Result<job::Usage> usage = meter_ && steward
                                       ? meter_->measure(*steward, address_here_)
                                       : fail(Errc::closed, "the host is not running");
  if (usage && measure.is_viewed) meter_->look();
  if (usage)
    answer.usage = *usage;
  else
    answer.why = usage.error().text;
  answers_.emplace_back(Message::node_usage, job::encode(answer));
}

/// A host's end is sent after its whole journal.
void NodeDaemon::send_words(loop::Channel& channel) {
  for (const auto& [message, answer] : std::exchange(answers_, {})) post(channel, message, answer);
  if (begun_ && !std::exchange(said_.began, true)) post(channel, Message::node_began);
  if (signalled_ && !std::exchange(said_.signalled, true))
    post(channel, Message::node_signalled,
         job::encode(job::NodeSignalled{signalled_->signal, since(signalled_->at)}));
}

Result<NodeDaemon::Sent> NodeDaemon::send_journal(loop::Channel& channel) {
  const std::string path = host_folder() + "/journal";
  if (!journal_) {
    journal_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!journal_ && errno != ENOENT) return fail_errno("cannot open " + path);
  }
  ssize_t count = 0;
  piece_.resize(job::node_piece_header_bytes + job::node_piece_bytes_max);
  if (journal_) do
      count = ::pread(journal_.get(), piece_.data() + job::node_piece_header_bytes,
                      job::node_piece_bytes_max, static_cast<off_t>(said_.journal_bytes));
    while (count < 0 && errno == EINTR);
  if (count < 0) return fail_errno("cannot read " + path);
  if (count == 0) {
    const bool is_whole = ended_ && said_.have == said_.journal_bytes;
    if (is_whole && !std::exchange(said_.ended, true))
      post(channel, Message::node_ended,
           job::encode(job::NodeEnded{ended_->outcome, since(ended_->at)}));
    return Sent::nothing;
  }
  piece_.resize(job::node_piece_header_bytes + static_cast<std::size_t>(count));
  job::set_piece_offset(piece_, said_.journal_bytes);
  post(channel, Message::node_journal, piece_);
  said_.journal_bytes += static_cast<std::uint64_t>(count);
  return Sent::something;
}

/// Planned once: after a broken connection the same bytes continue.
loop::Task<Result<void>> NodeDaemon::plan_result() {
  if (result_) co_return Result<void>();
  const auto walk = [disk = host_folder()]() -> Result<packing::TarPlan> {
    packing::EntryList entries(disk);
    std::vector<packing::Root> roots;
    roots.push_back(TRY(packing::own_root(disk, "result")));
    TRY(packing::walk_trees(
        roots, [&entries](const packing::TreeEntry& entry) { return entries.add(entry); }));
    return packing::TarPlan::make(std::move(entries), std::move(roots));
  };
  Result<packing::TarPlan> plan = co_await loop::in_thread(loop_, walk);
  if (!plan) co_return plan.error();
  result_ = *std::move(plan);
  co_return Result<void>();
}

Result<NodeDaemon::Sent> NodeDaemon::send_result(loop::Channel& channel) {
  piece_.resize(job::node_piece_header_bytes + job::node_piece_bytes_max);
  const std::span<char> into(piece_.data() + job::node_piece_header_bytes,
                             job::node_piece_bytes_max);
  std::size_t count = 0;
  if (said_.result_bytes < result_->bytes()) count = TRY(result_->read(said_.result_bytes, into));
  if (count == 0) {
    said_.given = true;
    post(channel, Message::node_given, job::encode(job::NodeGiven{result_->bytes(), ""}));
    return Sent::something;
  }
  piece_.resize(job::node_piece_header_bytes + count);
  job::set_piece_offset(piece_, said_.result_bytes);
  post(channel, Message::node_result, piece_);
  said_.result_bytes += count;
  return Sent::something;
}

}  // namespace muster::node
