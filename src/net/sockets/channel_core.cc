#include "net/sockets/channel_core.h"

#include <sys/socket.h>

namespace muster::loop {
namespace {

constexpr std::size_t read_bytes = 128u << 10;
constexpr std::size_t turn_bytes = 1u << 20;  ///< Then other tasks of the loop run.
constexpr std::size_t piece_bytes = 64u << 10;
constexpr std::size_t arrived_max = 64;  ///< Frames with descriptors not returned yet.
constexpr std::size_t frame_header_bytes = 5;

Error closed_error() {
  return fail(Errc::closed, "the connection is closed");
}

}  // namespace

ChannelCore::ChannelCore(Loop& loop, Fd socket, std::unique_ptr<Wire> wire, std::size_t backlog_max)
    : loop_(loop),
      socket_(std::move(socket)),
      wire_(std::move(wire)),
      buffer_(read_bytes),
      backlog_max_(backlog_max),
      drained_(loop),
      tasks_(loop) {
  watch_.emplace(loop, socket_.get());
}

void ChannelCore::close() {
  if (closed_) return;
  closed_ = true;
  if (!write_ended_) wire_->goodbye();
  watch_.reset();
  socket_.reset();
  tasks_.end();
  queue_.clear();
  queued_bytes_ = 0;
  arrived_.clear();
  frame_fds_.clear();
  drained_.notify();
}

// Reading.

Task<Result<Frame>> ChannelCore::receive(std::shared_ptr<ChannelCore> core) {
  while (!core->closed_) {
    Result<std::optional<Frame>> frame = core->next_frame();
    if (!frame) co_return frame.error();
    if (frame->has_value()) co_return std::move(**frame);
    if (core->read_ended_) co_return *core->read_ended_;
    if (core->read_since_turn_ >= turn_bytes) {
      core->read_since_turn_ = 0;
      co_await core->loop_.turn();
      continue;
    }
    core->read_some();
    if (!core->wanted_) continue;
    const bool ready = co_await core->ready(*std::exchange(core->wanted_, std::nullopt));
    if (!ready && !core->closed_) co_return fail(Errc::system, "cannot wait on the socket");
    core->read_since_turn_ = 0;
  }
  co_return closed_error();
}

Task<bool> ChannelCore::ready(Wire::Kind kind) {
  return kind == Wire::Kind::want_write ? watch_->writable() : watch_->readable();
}

Result<std::optional<Frame>> ChannelCore::next_frame() {
  Result<std::optional<Frame>> frame = reader_.next();
  if (!frame || !frame->has_value()) {
    if (!frame && !read_ended_) read_ended_ = frame.error();
    return frame;
  }
  bytes_framed_ += frame_header_bytes + (*frame)->payload.size();
  frame_fds_.clear();
  while (!arrived_.empty() && arrived_.front().end <= bytes_framed_) {
    if (frame_fds_.empty()) frame_fds_ = std::move(arrived_.front().fds);
    arrived_.pop_front();
  }
  return frame;
}

void ChannelCore::read_some() {
  std::vector<Fd> fds;
  const Wire::Attempt attempt = wire_->read(buffer_.data(), buffer_.size(), &fds);
  switch (attempt.kind) {
    case Wire::Kind::done:
      reader_.feed({buffer_.data(), attempt.bytes});
      bytes_read_ += attempt.bytes;
      read_since_turn_ += attempt.bytes;
      if (!fds.empty() && arrived_.size() < arrived_max)
        arrived_.push_back({bytes_read_, std::move(fds)});
      break;
    case Wire::Kind::end:
      read_ended_ = reader_.unfinished()
                        ? fail(Errc::protocol, "the connection was lost in the middle of a message")
                        : fail(Errc::closed, "the other side closed the connection");
      break;
    case Wire::Kind::failed:
      read_ended_ = attempt.error;
      break;
    case Wire::Kind::want_read:
    case Wire::Kind::want_write:
      wanted_ = attempt.kind;
      break;
  }
}

// Writing.

void ChannelCore::post(std::uint8_t type, std::string_view payload, std::vector<Fd> fds) {
  if (closed_ || write_ended_) return;
  if (queued_bytes_ + payload.size() > backlog_max_) return give_up_on_reader();
  const bool with_fds = !fds.empty();
  if (queue_.empty() || with_fds || queue_.back().sealed ||
      queue_.back().bytes.size() >= piece_bytes)
    queue_.emplace_back();
  Piece& piece = queue_.back();
  append_frame(piece.bytes, type, payload);
  piece.fds = std::move(fds);
  piece.sealed = with_fds;
  queued_bytes_ += frame_header_bytes + payload.size();
  pump_soon();
}

void ChannelCore::pump_soon() {
  if (pumping_) return;
  pumping_ = true;
  tasks_.start(pump());
}

Task<void> ChannelCore::pump() {
  std::size_t turn = 0;
  while (!queue_.empty()) {
    if (turn >= turn_bytes) {
      turn = 0;
      co_await loop_.turn();
      continue;
    }
    Piece& piece = queue_.front();
    piece.sealed = true;  // TLS requires that an incomplete write is repeated with the same bytes.
    const Wire::Attempt attempt =
        wire_->write(std::string_view(piece.bytes).substr(piece.sent), &piece.fds);
    if (attempt.kind == Wire::Kind::want_read || attempt.kind == Wire::Kind::want_write) {
      turn = 0;
      const bool is_ready = co_await ready(attempt.kind);
      if (!is_ready) stop_writing(fail(Errc::system, "cannot wait on the socket"));
      continue;
    }
    if (attempt.kind != Wire::Kind::done) {
      stop_writing(attempt.error);
      break;
    }
    piece.sent += attempt.bytes;
    turn += attempt.bytes;
    queued_bytes_ -= attempt.bytes;
    if (piece.sent == piece.bytes.size()) queue_.pop_front();
    drained_.notify();
  }
  pumping_ = false;
}

// Reading continues, because frames that the other side sent before it closed are still valid.
void ChannelCore::stop_writing(Error error) {
  write_ended_ = std::move(error);
  queue_.clear();
  queued_bytes_ = 0;
  drained_.notify();
}

/// A peer may send and never read. The shutdown wakes whatever waits on the socket.
void ChannelCore::give_up_on_reader() {
  const Error error =
      fail(Errc::closed, "the other side is not reading: " + std::to_string(backlog_max_ >> 20) +
                             " MiB of messages are pending");
  read_ended_ = error;
  stop_writing(error);
  ::shutdown(socket_.get(), SHUT_RDWR);
}

Task<Result<void>> ChannelCore::queue_below(std::shared_ptr<ChannelCore> core, std::size_t bytes) {
  while (!core->closed_ && !core->write_ended_ && core->queued_bytes_ > bytes)
    co_await core->drained_.wait();
  if (core->closed_) co_return closed_error();
  if (core->write_ended_) co_return *core->write_ended_;
  co_return Result<void>();
}

}  // namespace muster::loop
