#include "platform/look.h"

#include <memory>
#include <utility>

#include "net/loop/wait.h"

namespace muster::platform {
namespace {

struct Looking {
  explicit Looking(loop::Loop& loop) : done(loop) {}
  std::vector<job::HostStacks> hosts;
  std::size_t left = 0;
  loop::Event done;
};

/// One host's part. It counts as done when it is gone, also with the group of tasks it ran in.
class Part {
 public:
  explicit Part(std::shared_ptr<Looking> looking) : looking_(std::move(looking)) {}
  Part(Part&& other) noexcept = default;
  Part& operator=(Part&&) = delete;
  ~Part() {
    if (!looking_) return;
    if (--looking_->left == 0) looking_->done.notify();
  }
  job::HostStacks& host(std::size_t index) { return looking_->hosts[index]; }

 private:
  std::shared_ptr<Looking> looking_;
};

loop::Task<> look_at(Part part, std::size_t index, engine::Run& run, engine::Question question) {
  Result<engine::Answer> answer = co_await run.ask(part.host(index).host, question);
  job::HostStacks* stacks = answer ? std::get_if<job::HostStacks>(&*answer) : nullptr;
  if (stacks == nullptr) {
    part.host(index).trouble = answer ? "it sent an unexpected response" : answer.error().text;
    co_return;
  }
  stacks->host = part.host(index).host;
  part.host(index) = std::move(*stacks);
}

}  // namespace

loop::Task<std::vector<job::HostStacks>> look_at_hosts(loop::Tasks& tasks, engine::Run& run,
                                                       job::Calls calls) {
  const auto looking = std::make_shared<Looking>(tasks.loop());
  const engine::Question question = engine::question_about(calls);
  for (const std::string& host : run.hosts())
    looking->hosts.push_back({.host = host, .processes = {}, .trouble = "the job has ended"});
  looking->left = looking->hosts.size();
  for (std::size_t i = 0; i < looking->hosts.size(); ++i)
    tasks.start(look_at(Part(looking), i, run, question));
  while (looking->left > 0) co_await looking->done.wait();
  co_return looking->hosts;
}

}  // namespace muster::platform
