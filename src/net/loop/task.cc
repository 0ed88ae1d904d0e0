#include "net/loop/task.h"

#include <cstdio>
#include <exception>

namespace muster::loop {

void detail::task_threw() noexcept {
  const char* what = "something that is no std::exception";
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    what = error.what();
    std::fprintf(stderr, "muster: an exception left a task: %s\n", what);
  } catch (...) {
    std::fprintf(stderr, "muster: an exception left a task: %s\n", what);
  }
  std::terminate();
}

TaskRun::TaskRun(Task<void> task, std::function<void()> ended)
    : task_(std::make_unique<Task<void>>(std::move(task))), ended_(std::move(ended)) {
  task_->handle_.promise().run = this;
}

TaskRun::~TaskRun() {
  CHECK_THAT(!running_, "a task that runs is not destroyed");
}

void TaskRun::begin() {
  resume(task_->handle_);
}

void TaskRun::resume(std::coroutine_handle<> at) {
  running_ = true;
  next_ = at;
  while (next_) std::exchange(next_, nullptr).resume();
  running_ = false;
  if (disowned_) {
    delete this;
  } else if (task_->handle_.done()) {
    const std::function<void()> ended = std::move(ended_);  // The call destroys this object.
    ended();
  }
}

void TaskRun::end(std::unique_ptr<TaskRun> run) {
  run->disowned_ = true;
  if (run->running_) static_cast<void>(run.release());  // resume() is the caller, and deletes it.
}

}  // namespace muster::loop
