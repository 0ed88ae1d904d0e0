#include "loop/loop.h"

#include <boost/asio/post.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace muster::loop {
namespace {

[[noreturn]] void task_threw(const std::exception_ptr& thrown) {
  const char* what = "something that is no std::exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    what = error.what();
    std::fprintf(stderr, "muster: an exception left a task: %s\n", what);
  } catch (...) {
    std::fprintf(stderr, "muster: an exception left a task: %s\n", what);
  }
  std::abort();
}

}  // namespace

void Loop::spawn(Task<void> task) {
  asio::co_spawn(context_, std::move(task), [](const std::exception_ptr& thrown) {
    if (thrown) task_threw(thrown);
  });
}

void Loop::post(std::function<void()> function) {
  asio::post(context_, std::move(function));
}

}  // namespace muster::loop
