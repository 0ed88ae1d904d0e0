#include "platform/retries.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

JobEnd taken(JobEnd::Taken how) {
  JobEnd end;
  end.taken = how;
  end.reason = "node7 is down";
  return end;
}

TEST_CASE("retries: a job ends with its own failure, and continues after a machine's") {
  Retries retries(2);
  CHECK(!retries.after(taken(JobEnd::Taken::no), true).again);
  const Retries::Answer again = retries.after(taken(JobEnd::Taken::lost), true);
  CHECK(again.again);
  CHECK(again.text == "node7 is down");
  CHECK(retries.after(taken(JobEnd::Taken::card_broken), true).again);
  CHECK(!retries.after(taken(JobEnd::Taken::card_memory), true).again);
  Retries none(0);
  CHECK(!none.after(taken(JobEnd::Taken::preempted), true).again);
}

TEST_CASE("retries: losses are counted, preemptions are not") {
  Retries retries(2);
  for (int i = 0; i < 10; ++i) CHECK(retries.after(taken(JobEnd::Taken::preempted), true).again);
  CHECK(retries.after(taken(JobEnd::Taken::lost), true).again);
  CHECK(retries.after(taken(JobEnd::Taken::lost), true).again);
  const Retries::Answer last = retries.after(taken(JobEnd::Taken::lost), true);
  CHECK(!last.again);
  CHECK(last.text == "not restarted: a machine was lost 3 times");
}

TEST_CASE("retries: three attempts that get nowhere are the last, also when they are preempted") {
  Retries retries(2);
  CHECK(retries.after(taken(JobEnd::Taken::preempted), false).again);
  CHECK(retries.after(taken(JobEnd::Taken::preempted), false).again);
  CHECK(retries.after(taken(JobEnd::Taken::preempted), true).again);
  CHECK(retries.after(taken(JobEnd::Taken::preempted), false).again);
  CHECK(retries.after(taken(JobEnd::Taken::preempted), false).again);
  const Retries::Answer last = retries.after(taken(JobEnd::Taken::preempted), false);
  CHECK(!last.again);
  CHECK(last.text.find("leave a checkpoint") != std::string::npos);
}

TEST_CASE("retries: attempts that another process watched count, too") {
  Retries first(1);
  CHECK(first.after(taken(JobEnd::Taken::lost), true).again);
  CHECK(first.tally() == engine::Tally{.lost = 1, .idle = 0});
  CHECK(!Retries(1, first.tally()).after(taken(JobEnd::Taken::lost), true).again);
  Retries idle(2, {.lost = 0, .idle = 2});
  CHECK(!idle.after(taken(JobEnd::Taken::preempted), false).again);
}

}  // namespace
}  // namespace muster::platform
