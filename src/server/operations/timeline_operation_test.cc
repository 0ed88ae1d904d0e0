#include "server/operations/timeline_operation.h"

#include <doctest/doctest.h>

#include "job/wire/journal.h"
#include "net/loop/testing.h"
#include "server/operations/operations_testing.h"

namespace muster::server {
namespace {

loop::Task<> describe(Timelines& timelines, std::string job, std::vector<std::string>& ended) {
  const api::Answer answer = co_await timelines.describe(job);
  CHECK(answer);
  ended.push_back(std::move(job));
}

/// Long enough to be read for a while.
std::string long_journal() {
  std::string bytes;
  const std::string line = job::encode(job::LogLine{"info", std::string(1000, 'x')});
  for (std::uint64_t seq = 1; seq <= 20'000; ++seq)
    job::append_record(bytes, seq, UnixMillis(1), job::Message::log, line);
  return bytes;
}

TEST_CASE("timelines: the journals of one job at a time are read, and only timelines wait") {
  World world;
  for (const char* name : {"slow", "next", "last"})
    REQUIRE(world.code("CreateTrainingJob", job_input(name)) == "none");
  REQUIRE(write_file(world.folder + "/slow-algo-1", long_journal()));
  Timelines timelines(world.journals.loop, world.store, world.journals.files);
  std::vector<std::string> ended;
  const auto test = [&](loop::Loop& on) -> loop::Task<> {
    loop::Tasks clients(on);
    for (const char* name : {"slow", "next", "last"})
      clients.start(describe(timelines, name, ended));
    co_await on.turn();
    CHECK(ended.empty());
    CHECK(world.code("DescribeTrainingJob", {{"TrainingJobName", "slow"}}) == "none");
    co_await clients.join();
    REQUIRE(ended.size() == 3);
    CHECK(ended[0] == "slow");  // The others have nothing to read, and would be done earlier.
  };
  loop::run_task(world.journals.loop, test(world.journals.loop));
}

}  // namespace
}  // namespace muster::server
