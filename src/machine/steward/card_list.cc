#include "machine/steward/card_list.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <utility>

#include "os/devices/compute_apps.h"
#include "os/devices/gpu_figures.h"
#include "os/supervise/spawn.h"

namespace muster::steward {
namespace {

constexpr const char* machine_folder = "/run/muster";
constexpr std::chrono::seconds tool_pause{30};
constexpr std::chrono::seconds one_list{1};  ///< The lines of a list arrive together.
constexpr std::size_t list_bytes_max = 64u << 10;

std::int64_t milliseconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::string card_list_folder(const std::string& job_folder) {
  return ::geteuid() == 0 && ::access(machine_folder, W_OK) == 0 ? machine_folder : job_folder;
}

CardList::CardList(loop::Loop& loop, Env env, const std::string& folder, Take take,
                   Duration interval)
    : loop_(loop),
      env_(std::move(env)),
      file_(folder + "/gpu-processes"),
      take_(std::move(take)),
      interval_(interval),
      tasks_(loop) {
  tasks_.start(watch());
}

void CardList::end() {
  ended_ = true;
  if (tool_) tool_->signal(SIGKILL);
}

/// A tool that ends is restarted: the driver may be loaded later, or a card may have failed.
loop::Task<> CardList::watch() {
  loop::Timer pause(loop_);
  bool goes_on = true;
  while (goes_on && !ended_) {
    const bool is_writer = try_lock();
    if (is_writer) {
      const bool has_run = co_await run_tool();
      if (!has_run) break;  // Not NVIDIA's cards.
    } else {
      catch_up();
    }
    if (!ended_) goes_on = co_await pause.after(is_writer ? Duration(tool_pause) : interval_);
  }
  lock_.reset();
}

bool CardList::try_lock() {
  if (!lock_) {
    Fd lock(::open((file_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) lock_ = std::move(lock);
  }
  return static_cast<bool>(lock_);
}

/// Runs the tool to its end; false if it cannot be started.
loop::Task<bool> CardList::run_tool() {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Result<Pipe> out = make_pipe();
  if (!null || !out) co_return false;
  const supervise::Stdio stdio{null.get(), out->write.get(), null.get(), {}};
  const Command command{.argv = devices::compute_apps_command(), .env = env_, .cwd = "/"};
  const Result<pid_t> pid = supervise::spawn(command, stdio, {.death_signal = SIGKILL});
  if (!pid) co_return false;
  Result<container::Process> tool = container::Process::open(*pid);
  if (!tool) co_return false;
  tool_ = *std::move(tool);
  out->write.reset();
  time_ = {};  // The tool's first list continues no other steward's.
  co_await read_lists(std::move(out->read));
  tool_->signal(SIGKILL);
  static_cast<void>(co_await tool_->ended(loop_));
  tool_.reset();
  co_return true;
}

/// To the end of the tool's output.
loop::Task<> CardList::read_lists(Fd out) {
  loop::Watch watch(loop_, out.get());
  std::array<char, 4096> buffer;
  while (!ended_) {
    const bool is_readable = co_await watch.readable();
    if (!is_readable) co_return;
    const ssize_t count = ::read(out.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) co_return;
    add(std::string_view(buffer.data(), static_cast<std::size_t>(count)), Clock::now());
  }
}

/// If the file cannot be written, the other stewards have no list, and say nothing about processes.
void CardList::add(std::string_view text, TimePoint now) {
  if (now - time_ > one_list) {
    list_.clear();
    time_ = now;
  }
  list_ += text.substr(0, list_bytes_max - list_.size());
  static_cast<void>(write_file(file_, std::to_string(milliseconds(time_)) + "\n" + list_, 0600));
  take_(list_, time_);
}

void CardList::catch_up() {
  if (lock_ || ended_) return;
  const Result<std::string> text = read_file(file_, 2 * list_bytes_max);
  if (!text) return;
  const std::size_t end = text->find('\n');
  const std::optional<std::int64_t> time =
      devices::number_up_to(text->substr(0, end), milliseconds(Clock::now()));
  if (!time || end == std::string::npos) return;
  std::string list = text->substr(end + 1);
  const TimePoint printed{std::chrono::milliseconds(*time)};
  if (printed < time_ || (printed == time_ && list == list_)) return;
  list_ = std::move(list);
  time_ = printed;
  take_(list_, time_);
}

}  // namespace muster::steward
