#include "os/devices/gpu_meter.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "net/loop/wait.h"
#include "os/devices/find.h"
#include "os/supervise/reaper.h"
#include "os/supervise/spawn.h"

namespace muster::devices {
namespace {

constexpr std::chrono::seconds try_again{30};
/// The tool reports each second.
constexpr std::chrono::seconds silent_after{10};
/// After somebody has looked: those who look again each second need no new tool.
constexpr std::chrono::seconds looks_for{10};
constexpr std::size_t line_bytes_max = 4096;
constexpr std::size_t gpus_max = 1024;

}  // namespace

GpuMeter::GpuMeter(supervise::Programs& programs, Env env, const std::string& told)
    : programs_(programs),
      env_(std::move(env)),
      places_(gpu_places(told)),
      tasks_(programs.loop()) {
  figures_.take = [this](std::string_view line) { return take(line); };
  traffic_.take = [this](std::string_view line) { return take_traffic(line); };
  tasks_.start(watch());
}

GpuMeter::~GpuMeter() {
  tasks_.end();
  end(figures_);
  end(traffic_);
}

void GpuMeter::end(const Tool& tool) {
  if (tool.pid != 0) programs_.reaper().signal_group(tool.pid, SIGKILL);
}

/// A tool that ends is restarted: a driver may be loaded later, or a card may have failed. An older
/// one that refuses the fields of figures_command(true) is asked for the basic ones at once.
loop::Task<> GpuMeter::watch() {
  loop::Timer pause(programs_.loop());
  bool goes_on = true;
  while (goes_on) {
    Args whole = figures_command(true);
    bool has_run = co_await follow(std::move(whole), figures_);
    if (has_run && !figures_.has_reported) {
      Args basic = figures_command(false);
      has_run = co_await follow(std::move(basic), figures_);
    }
    if (!has_run) co_return;
    goes_on = co_await pause.after(try_again);
  }
}

void GpuMeter::look() {
  looked_until_ = Clock::now() + looks_for;
  if (watches_traffic_) return;
  watches_traffic_ = true;
  tasks_.start(watch_traffic());
}

/// As watch(), while somebody looks.
loop::Task<> GpuMeter::watch_traffic() {
  loop::Timer pause(programs_.loop());
  is_traffic_over_ = false;
  tasks_.start(end_traffic());
  for (const bool whole : {true, false}) {
    Args words = traffic_command(whole);
    const bool has_run = co_await follow(std::move(words), traffic_);
    if (!has_run || traffic_.has_reported || is_traffic_over_) break;
  }
  if (!is_traffic_over_) co_await pause.after(try_again);
  watches_traffic_ = false;
}

loop::Task<> GpuMeter::end_traffic() {
  loop::Timer timer(programs_.loop());
  while (Clock::now() < looked_until_) co_await timer.until(looked_until_);
  is_traffic_over_ = true;
  end(traffic_);
}

/// Runs the tool to its end; false if it cannot be started.
loop::Task<bool> GpuMeter::follow(Args argv, Tool& tool) {
  tool.has_reported = false;
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Result<Pipe> out = make_pipe();
  if (!null || !out) co_return false;
  ::fcntl(out->read.get(), F_SETFL, O_NONBLOCK);
  const supervise::Stdio stdio{null.get(), out->write.get(), null.get(), {}};
  const Command command{.argv = std::move(argv), .env = env_, .cwd = "/"};
  const Result<pid_t> pid =
      supervise::spawn(command, stdio, {.own_group = true, .death_signal = SIGKILL});
  if (!pid) co_return false;
  tool.pid = *pid;
  programs_.reaper().watch(*pid, [](job::Outcome) {});
  out->write.reset();
  co_await read_lines(std::move(out->read), tool);
  end(tool);
  tool.pid = 0;
  co_return true;
}

/// To the end of the tool.
loop::Task<> GpuMeter::read_lines(Fd out, Tool& tool) {
  loop::Watch watch(programs_.loop(), out.get());
  std::array<char, 4096> buffer;
  std::string line;
  while (true) {
    const ssize_t count = ::read(out.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      const bool more = co_await watch.readable();
      if (!more) co_return;
      continue;
    }
    if (count <= 0) co_return;
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(count))) {
      if (c == '\n' && tool.take(std::exchange(line, {}))) tool.has_reported = true;
      if (c != '\n' && line.size() < line_bytes_max) line += c;
    }
  }
}

bool GpuMeter::take(std::string_view line) {
  const std::optional<GpuFigures> figures = figures_from(line);
  if (!figures) return false;
  const auto place = places_.find(figures->bus);
  const int number = place == places_.end() ? figures->index : place->second;
  if (!seen_.contains(number) && seen_.size() >= gpus_max) return true;
  numbers_[figures->index] = number;
  Seen& seen = seen_[number];
  seen.percents += figures->percent;
  ++seen.count;
  seen.memory_bytes = std::max(seen.memory_bytes, figures->memory_bytes);
  seen.last = *figures;
  seen.time = Clock::now();
  return true;
}

/// Ignores cards that the other tool has not reported.
bool GpuMeter::take_traffic(std::string_view line) {
  const std::optional<std::pair<int, job::GpuTraffic>> traffic = traffic_reader_.take(line);
  if (!traffic) return false;
  const auto number = numbers_.find(traffic->first);
  if (number == numbers_.end()) return true;
  Seen& seen = seen_[number->second];
  seen.traffic = traffic->second;
  seen.traffic_time = Clock::now();
  return true;
}

std::vector<job::GpuUse> GpuMeter::of(const std::vector<int>& numbers) {
  std::vector<job::GpuUse> uses;
  for (const int number : numbers) {
    job::GpuUse& use = uses.emplace_back(job::GpuUse{.number = number});
    const auto found = seen_.find(number);
    if (found == seen_.end() || Clock::now() - found->second.time > silent_after) continue;
    Seen& seen = found->second;
    use.percent = seen.count > 0 ? static_cast<int>(seen.percents / seen.count) : seen.last.percent;
    use.memory_bytes = std::max(seen.memory_bytes, seen.last.memory_bytes);
    use.state = seen.last.state;
    if (Clock::now() - seen.traffic_time < silent_after) use.traffic = seen.traffic;
    seen.percents = seen.count = seen.memory_bytes = 0;
  }
  return uses;
}

}  // namespace muster::devices
