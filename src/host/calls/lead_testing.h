#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/calls/lead.h"
#include "host/calls/testing.h"
#include "host/coordinate/member.h"
#include "net/sockets/probe_port.h"

namespace muster::calls {

/// A leader that has a member, algo-2.
struct LeadBench : OneHost {
  explicit LeadBench(std::vector<std::string> hosts = {"algo-1", "algo-2"})
      : OneHost("algo-1", "algo-1", std::move(hosts)) {
    options.port = loop::free_ports(1)->front();
  }

  void open_member() {
    coordinate::Member::Options mine;
    mine.job = "job";
    mine.host = "algo-2";
    mine.leader = "algo-1";
    mine.address = "127.0.0.1";
    mine.port = options.port;
    mine.key = key;
    mine.join_deadline = std::chrono::seconds(20);
    mine.heartbeat = std::chrono::milliseconds(200);
    member = *coordinate::Member::open(loop, std::move(mine), log);
    member->on_frame([this](Frame frame) {
      heard.push_back({static_cast<job::Message>(frame.type), std::move(frame.payload)});
    });
  }
  /// The member comes, and the job starts.
  loop::Task<> join() {
    open_member();
    const Result<void> joined = co_await member->join();
    REQUIRE(joined);
  }
  void post(job::Message type, const std::string& payload) {
    member->post(job::type_of(type), payload);
  }
  void ends(const job::Outcome& outcome) {
    post(job::Message::host_end, verdict_text("algo-2", outcome));
  }
  loop::Task<> until_heard(job::Message type) {
    return until([this, type] { return !payloads(heard, type).empty(); });
  }
  /// As a member does at a job's end: it has cleaned up, and leaves after the leader's end message.
  loop::Task<> leave() {
    co_await until_heard(job::Message::drain);
    post(job::Message::drained, "{}");
    co_await until_heard(job::Message::end);
    member->close();
  }
  /// The verdict that the member received.
  job::Verdict end() const {
    return *job::verdict_from(*parse_json(payloads(heard, job::Message::end).front()));
  }

  std::unique_ptr<coordinate::Member> member;
  std::vector<Heard> heard;
};

}  // namespace muster::calls
