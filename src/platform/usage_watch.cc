#include "platform/usage_watch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "net/loop/wait.h"

namespace muster::platform {
namespace {

/// After a look, also the questions for samples are somebody's.
constexpr Duration viewed_for = std::chrono::seconds(5);
constexpr UnixMillis forgotten_after = std::chrono::seconds(30);
/// In rounds: a host whose control groups are still being made looks like one of a machine whose
/// kernel counts nothing.
constexpr int hopeless_after = 10;

/// One GPU's use since the last sample.
struct GpuMean {
  double percent_ms = 0;
  double ms = 0;
  std::int64_t memory_bytes = 0;  ///< The most.
};

struct Host {
  std::optional<job::HostUsage> last;
  bool is_fresh = false;  ///< Whether it answered in the present round.
  int unable = 0;         ///< Rounds in a row in which it could not be measured.
  std::map<int, GpuMean> gpus;
};

void take(Host& host, job::HostUsage usage) {
  const auto passed = host.last ? usage.time - host.last->time : std::chrono::seconds(1);
  const double ms = std::max(1.0, static_cast<double>(passed.count()));
  for (const job::GpuUse& gpu : usage.usage.gpus) {
    if (gpu.percent < 0) continue;
    GpuMean& mean = host.gpus[gpu.number];
    mean.percent_ms += gpu.percent * ms;
    mean.ms += ms;
    mean.memory_bytes = std::max(mean.memory_bytes, gpu.memory_bytes);
  }
  host.is_fresh = true;
  host.last = std::move(usage);
}

/// The last answer, its GPUs in the mean; and a new mean begins.
job::HostUsage sample_of(Host& host) {
  job::HostUsage sample = *host.last;
  for (job::GpuUse& gpu : sample.usage.gpus) {
    const auto found = host.gpus.find(gpu.number);
    if (found == host.gpus.end()) continue;
    gpu.percent = static_cast<int>(std::lround(found->second.percent_ms / found->second.ms));
    gpu.memory_bytes = found->second.memory_bytes;
  }
  host.gpus.clear();
  return sample;
}

}  // namespace

struct UsageWatch::State {
  explicit State(loop::Loop& loop) : done(loop) {}
  std::vector<Host> hosts;  ///< In the job's order.
  std::size_t left = 0;     ///< Hosts that owe an answer.
  std::optional<TimePoint> began;
  std::optional<TimePoint> looked;  ///< By somebody.
  loop::Event done;                 ///< A round.
};

/// One host's part of a round. It counts as done when it is gone, also with the tasks it ran in.
class UsageWatch::Part {
 public:
  Part(std::shared_ptr<State> state, std::size_t index) : state_(std::move(state)), index_(index) {}
  Part(Part&& other) noexcept = default;
  Part& operator=(Part&&) = delete;
  ~Part() {
    if (!state_) return;
    if (--state_->left == 0) state_->done.notify();
  }
  Host& host() { return state_->hosts[index_]; }

 private:
  std::shared_ptr<State> state_;
  std::size_t index_;
};

UsageWatch::UsageWatch(loop::Loop& loop, loop::Tasks& tasks, engine::Run& run)
    : tasks_(tasks), run_(run), state_(std::make_shared<State>(loop)) {
  state_->hosts.resize(run.hosts().size());
}

loop::Task<> UsageWatch::ask(Part part, engine::Run& run, std::string host,
                             engine::Question question) {
  const Result<engine::Answer> answer = co_await run.ask(host, question);
  const engine::Usage* const usage = answer ? std::get_if<engine::Usage>(&*answer) : nullptr;
  const bool is_unable = !answer && answer.error().code == Errc::unsupported;
  part.host().unable = is_unable ? part.host().unable + 1 : 0;
  if (usage != nullptr) take(part.host(), {std::move(host), wall_time(), *usage});
}

/// A round, unless one runs or the last one is young.
void UsageWatch::begin(Duration age_max) {
  const TimePoint now = Clock::now();
  if (state_->left > 0 || (state_->began && now - *state_->began < age_max)) return;
  state_->began = now;
  state_->left = state_->hosts.size();
  for (Host& each : state_->hosts) each.is_fresh = false;
  const bool is_viewed = state_->looked && now - *state_->looked < viewed_for;
  const engine::Question question =
      is_viewed ? engine::Question::viewed_usage : engine::Question::usage;
  for (std::size_t i = 0; i < state_->hosts.size(); ++i)
    tasks_.start(ask(Part(state_, i), run_, run_.hosts()[i], question));
}

/// Needs nothing of this object, which may end meanwhile.
loop::Task<std::vector<job::HostUsage>> UsageWatch::whole(std::shared_ptr<State> state) {
  while (state->left > 0) co_await state->done.wait();
  std::vector<job::HostUsage> all;
  for (const Host& each : state->hosts)
    if (each.last && (each.is_fresh || wall_time() - each.last->time < forgotten_after))
      all.push_back(*each.last);
  co_return all;
}

loop::Task<std::vector<job::HostUsage>> UsageWatch::look(Duration age_max) {
  state_->looked = Clock::now();
  begin(age_max);
  return whole(state_);
}

std::vector<job::HostUsage> UsageWatch::seen(Duration age_max) {
  begin(age_max);
  std::vector<job::HostUsage> all;
  for (const Host& each : state_->hosts)
    if (each.last && wall_time() - each.last->time < forgotten_after) all.push_back(*each.last);
  return all;
}

loop::Task<std::vector<job::HostUsage>> UsageWatch::sample() {
  while (state_->left > 0) co_await state_->done.wait();
  begin(Duration(0));
  while (state_->left > 0) co_await state_->done.wait();
  std::vector<job::HostUsage> all;
  for (Host& each : state_->hosts)
    if (each.last && each.is_fresh) all.push_back(sample_of(each));
  co_return all;
}

bool UsageWatch::is_hopeless() const {
  return std::all_of(state_->hosts.begin(), state_->hosts.end(),
                     [](const Host& each) { return each.unable >= hopeless_after; });
}

}  // namespace muster::platform
