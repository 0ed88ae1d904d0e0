#pragma once

// Inside loop/ only: what the channels over TLS and over unix sockets share.

#include <deque>
#include <limits>
#include <optional>

#include "net/loop/tasks.h"
#include "net/loop/wait.h"
#include "net/sockets/channel.h"
#include "net/sockets/wire.h"

namespace muster::loop {

/// The state of a channel. Waiting tasks share it, so that a channel can be destroyed at any time;
/// they then end with `closed`.
class ChannelCore {
 public:
  /// `backlog_max`: with more bytes to send than that, the channel ends.
  ChannelCore(Loop& loop, Fd socket, std::unique_ptr<Wire> wire,
              std::size_t backlog_max = std::numeric_limits<std::size_t>::max());

  static Task<Result<Frame>> receive(std::shared_ptr<ChannelCore> core);
  static Task<Result<void>> queue_below(std::shared_ptr<ChannelCore> core, std::size_t bytes);
  void post(std::uint8_t type, std::string_view payload, std::vector<Fd> fds);
  std::vector<Fd> take_fds() { return std::move(frame_fds_); }
  void close();

 private:
  /// Bytes to send, of one or more frames; with descriptors, always of exactly one frame, so that
  /// the receiver can assign them.
  struct Piece {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<Fd> fds;
    bool sealed = false;  ///< No more frames are added.
  };
  /// Descriptors that arrived when byte `end` - 1 of the stream was the last byte read.
  struct Arrived {
    std::uint64_t end;
    std::vector<Fd> fds;
  };

  void pump_soon();
  Task<void> pump();
  void stop_writing(Error error);
  void give_up_on_reader();
  Result<std::optional<Frame>> next_frame();
  void read_some();
  Task<bool> ready(Wire::Kind kind);

  Loop& loop_;
  Fd socket_;
  std::optional<Watch> watch_;  ///< Until it is closed.
  std::unique_ptr<Wire> wire_;
  bool closed_ = false;

  FrameReader reader_;
  std::vector<char> buffer_;
  std::optional<Wire::Kind> wanted_;  ///< What the last read waits for.
  std::optional<Error> read_ended_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_framed_ = 0;   ///< Bytes of those in frames already returned.
  std::size_t read_since_turn_ = 0;  ///< Without letting others of the loop run.
  std::deque<Arrived> arrived_;
  std::vector<Fd> frame_fds_;

  std::deque<Piece> queue_;
  std::size_t queued_bytes_ = 0;
  std::size_t backlog_max_;
  std::optional<Error> write_ended_;
  bool pumping_ = false;
  Event drained_;
  Tasks tasks_;
};

/// A Channel, or a class made of one, over a core.
template <class Base>
class CoreChannel : public Base {
 public:
  explicit CoreChannel(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {}
  CoreChannel(const CoreChannel&) = delete;
  CoreChannel& operator=(const CoreChannel&) = delete;
  ~CoreChannel() override { core_->close(); }

  Task<Result<Frame>> receive() override { return ChannelCore::receive(core_); }
  void post(std::uint8_t type, std::string_view payload) override {
    core_->post(type, payload, {});
  }
  Task<Result<void>> room() override {
    return ChannelCore::queue_below(core_, channel_queue_bytes_max);
  }
  Task<Result<void>> flushed() override { return ChannelCore::queue_below(core_, 0); }
  void close() override { core_->close(); }

 protected:
  ChannelCore& core() { return *core_; }

 private:
  std::shared_ptr<ChannelCore> core_;
};

}  // namespace muster::loop
