#include "net/loop/loop_thread.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

namespace muster::loop {

namespace asio = boost::asio;

struct LoopThread::Busy {
  explicit Busy(Loop& loop) : guard(loop.context().get_executor()) {}
  asio::executor_work_guard<asio::io_context::executor_type> guard;
};

LoopThread::LoopThread() : busy_(std::make_unique<Busy>(loop_)), thread_([this] { loop_.run(); }) {}

LoopThread::~LoopThread() {
  stop();
}

void LoopThread::stop() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace muster::loop
