// Payloads that come from other hosts, or from mpirun. The first byte says which kind.
#include "host/ranks/messages.h"

#include <string_view>

#include "base/frame.h"
#include "fuzz.h"
#include "host/coordinate/rollcall_messages.h"
#include "host/ranks/rsh_agent.h"
#include "job/outcome/lines.h"
#include "job/spec.h"
#include "job/wire/journal.h"
#include "job/wire/mark.h"
#include "job/wire/node_messages.h"
#include "job/wire/rank_start.h"

namespace muster {

namespace {

void frames(std::string_view bytes) {
  FrameReader whole;
  FrameReader halves;
  whole.feed(bytes);
  halves.feed(bytes.substr(0, bytes.size() / 2));
  std::vector<Frame> got;
  const auto drain = [](FrameReader& reader, std::vector<Frame>& into) {
    while (true) {
      Result<std::optional<Frame>> frame = reader.next();
      if (!frame) return false;
      if (!*frame) return true;
      into.push_back(**frame);
    }
  };
  const bool fine = drain(whole, got);
  std::vector<Frame> got_in_halves;
  bool fine_in_halves = drain(halves, got_in_halves);
  if (fine_in_halves) {
    halves.feed(bytes.substr(bytes.size() / 2));
    fine_in_halves = drain(halves, got_in_halves);
  }
  CHECK_THAT(fine == fine_in_halves && got == got_in_halves, "where bytes are cut does not matter");
  std::string again;
  for (const Frame& frame : got) again += encode(frame);
  CHECK_THAT(bytes.starts_with(again), "frames encode as they came");
}

void roll_call(std::string_view bytes) {
  const Result<coordinate::Join> join = coordinate::join_from(bytes);
  if (join && join->version == coordinate::wire_version) {
    CHECK_THAT(*coordinate::join_from(coordinate::encode(*join)) == *join, "a join reads back");
  }
  static_cast<void>(coordinate::welcome_from(bytes));
  static_cast<void>(coordinate::refuse_from(bytes));
}

void agent(std::string_view bytes) {
  const Result<launch::AgentCall> call = launch::parse_agent_call(bytes);
  if (!call) return;
  const std::string& program = call->argv.at(0);
  CHECK_THAT(program == "orted" || program.ends_with("/orted"), "nothing but orted is started");
  static_cast<void>(launch::agent_command(bytes, {{"PATH", "/bin"}}));
}

void session(std::string_view bytes) {
  if (const Result<job::Moment> moment = job::moment_from(bytes); moment) {
    CHECK_THAT(*job::moment_from(job::encode(*moment)) == *moment, "a mark reads back");
  }
  if (const std::optional<job::RankStart> start = job::rank_start_from(bytes))
    CHECK_THAT(job::rank_start_from(job::encode(*start)) == start, "a rank's start reads back");
  static_cast<void>(ranks::signal_from(bytes));
  static_cast<void>(ranks::grace_from(bytes));
  static_cast<void>(ranks::exec_from(bytes));
  static_cast<void>(ranks::exec_end_from(bytes));
  static_cast<void>(ranks::verdict_from_text(bytes));
}

/// What reads back must read back as it was.
template <class Message>
void node_message(const Result<Message>& read, Result<Message> (*again)(std::string_view)) {
  if (read) CHECK_THAT(*again(job::encode(*read)) == *read, "a node's message reads back");
}

void node_link(std::string_view bytes) {
  if (const auto hello = job::node_hello_from(bytes); hello && hello->version == 1)
    node_message(hello, job::node_hello_from);
  if (const auto welcome = job::node_welcome_from(bytes); welcome && welcome->version == 1)
    node_message(welcome, job::node_welcome_from);
  node_message(job::node_begin_from(bytes), job::node_begin_from);
  node_message(job::node_stop_from(bytes), job::node_stop_from);
  node_message(job::node_look_from(bytes), job::node_look_from);
  node_message(job::node_stacks_from(bytes), job::node_stacks_from);
  node_message(job::node_signalled_from(bytes), job::node_signalled_from);
  node_message(job::node_ended_from(bytes), job::node_ended_from);
  node_message(job::node_given_from(bytes), job::node_given_from);
  node_message(job::node_end_from(bytes), job::node_end_from);
  node_message(job::node_again_from(bytes), job::node_again_from);
  static_cast<void>(job::node_have_from(bytes));
  static_cast<void>(job::node_piece_from(bytes));
  static_cast<void>(job::node_job_from(bytes));
  if (const auto identity = job::node_identity_from(bytes))
    CHECK_THAT(job::encode(*identity) == bytes, "an identity reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'f':
      frames(bytes);
      break;
    case 'l':
      if (const Result<job::Lines> lines = job::lines_from(bytes); lines)
        CHECK_THAT(*job::lines_from(job::encode(*lines)) == *lines, "lines read back");
      break;
    case 'r':
      roll_call(bytes);
      break;
    case 'a':
      agent(bytes);
      break;
    case 's':
      session(bytes);
      break;
    case 'n':
      node_link(bytes);
      break;
    default:
      break;
  }
  return 0;
}

}  // namespace muster
