// A leader that compares the hosts before their work begins.

#include "host/calls/lead_testing.h"

namespace muster::calls {
namespace {

using job::Message;
using job::Outcome;
using Bench = LeadBench;

TEST_CASE_FIXTURE(Bench, "lead: a light preflight warns of what differs, and the work begins") {
  HostContext own = context();
  own.preflight.mode = PreflightMode::light;
  Lead lead(std::move(own));
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    b.post(Message::preflight_facts, R"({"packages":{"torch":"9.9"}})");
    co_await b.until_heard(Message::preflight_over);
    b.ends(Outcome::exited(0));
    co_await b.leave();
  };
  CHECK(run(lead, story(*this)).success());
  CHECK(said.has("warning: preflight: torch: "));
  CHECK(prepared);
  CHECK(payloads(told(), Message::preflight_facts).empty());
}

TEST_CASE_FIXTURE(Bench, "lead: hosts that cannot work together end the job before its work") {
  training.interface = "lo";
  HostContext own = context();
  own.preflight.mode = PreflightMode::full;
  Lead lead(std::move(own));
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    b.post(Message::preflight_facts,
           R"({"interface":"none","interfaces":{"lo":["127.0.0.1/8"]},"addresses":["10.0.0.2"]})");
    b.post(Message::preflight_ways, "x");
    co_await b.leave();
  };
  const job::Verdict verdict = run(lead, story(*this));
  CHECK(verdict.process == "preflight");
  CHECK(verdict.outcome.text.find("the hosts cannot work together: ") != std::string::npos);
  CHECK(said.has("algo-2 has no network interface \"none\""));
  CHECK(said.has("warning: algo-2: "));
  CHECK(lines().empty());
  const std::vector<std::string> records = payloads(told(), Message::preflight_facts);
  REQUIRE(records.size() == 2);
  CHECK((*parse_json(records[0]))["host"] == "algo-1");
  CHECK((*parse_json(records[1]))["host"] == "algo-2");
}

TEST_CASE_FIXTURE(Bench, "lead: a member that is lost during the preflight is not waited for") {
  work = program("sleep 1000");
  HostContext own = context();
  own.preflight.mode = PreflightMode::light;
  Lead lead(std::move(own));
  const auto story = [](Bench& b) -> loop::Task<> {
    co_await b.join();
    b.member.reset();
  };
  const job::Verdict verdict = run(lead, story(*this));
  CHECK(verdict.outcome.kind == Outcome::Kind::lost);
  CHECK(verdict.host == "algo-2");
  CHECK_FALSE(said.has("did not send information"));
}

}  // namespace
}  // namespace muster::calls
