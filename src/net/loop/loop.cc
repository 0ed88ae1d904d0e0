#include "net/loop/loop.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace muster::loop {

namespace asio = boost::asio;

Loop::Loop() : context_(std::make_unique<asio::io_context>(1)) {}

Loop::~Loop() = default;

void Loop::post(std::function<void()> function) {
  asio::post(*context_, std::move(function));
}

Task<void> Loop::turn() {
  const Wait<bool> turned;
  asio::post(*context_, [tell = turned.teller()] { tell(true); });
  co_await turned;
}

void Loop::run() {
  context_->run();
}

void Loop::poll() {
  context_->poll();
}

void Loop::stop() {
  context_->stop();
}

void Loop::restart() {
  context_->restart();
}

}  // namespace muster::loop
