#pragma once

#include <cstdint>

namespace muster::job {

/// Types of the frames that muster's processes exchange. Payloads are compact JSON objects, except
/// `lines`, `exec_output` (job/outcome/lines.h) and those of the node link that carry bytes.
/// docs/protocols/ has a page for each stream: rollcall.md (member - leader), host-socket.md (rank,
/// agent - train), steward.md (train - steward), node-link.md (node - engine).
enum class Message : std::uint8_t {
  // Roll call; owned by coordinate/.
  join = 1,       ///< member: {version, muster, host, facts, ports, digest}
  welcome = 2,    ///< leader: {version}
  refuse = 3,     ///< leader: {why}; then it closes
  heartbeat = 4,  ///< both: {}
  // Between leader and members after the roll call; calls/ gives them meaning.
  start = 5,        ///< leader: {preflight} the plan may run, or a preflight begins
  exec = 6,         ///< leader: {id, argv} run this launcher daemon
  exec_output = 7,  ///< member: as `lines`, rank is the exec's id
  exec_end = 8,     ///< member: {id, outcome}
  signal = 9,       ///< leader: {signal, grace_ms} to every rank of the host
  lines = 10,       ///< member: job/outcome/lines.h
  outcome = 11,     ///< member: a verdict about one process of its host, as it ended
  drain = 12,       ///< leader: {grace_ms} end what runs, send all lines, then `drained`
  drained = 13,     ///< member: {}
  end = 14,         ///< leader: the job's verdict; the session ends
  // Before the program runs, between leader and members: job/preflight/facts.h,
  // host/measure/pair.h.
  preflight_facts = 15,  ///< member: what its machine is like
  preflight_pair = 16,   ///< leader: {connects, peer, ...} measure the way to another host
  preflight_ways = 17,   ///< member: what came of that
  preflight_over = 18,   ///< leader: {} the program may run
  // Host socket.
  rank_hello = 20,    ///< rank: {rank, local_rank, pid}
  rank_run = 21,      ///< train: {argv, env, cwd}
  rank_started = 22,  ///< rank: {pid} with the read ends of its stdout and stderr (SCM_RIGHTS);
                      ///< steward stream: {rank, pid}
  rank_end = 23,      ///< rank: {outcome, unix_ms}
  rank_ack = 24,      ///< train: {} the end is known, the rank may exit
  rank_hold = 37,     ///< train: {} the end is known, the rank waits for `rank_ack` (a stop)
  agent_exec = 25,    ///< agent: {host, text} with its stdout and stderr (SCM_RIGHTS)
  agent_end = 26,     ///< train: {code, error}
  failed = 27,        ///< either: {why}
  call = 28,          ///< operator: job/launch/call.h, packed; the call is made when all hosts have
  call_result = 29,   ///< train: {verdict, data}
  // Collective calls and the hosts' own programs, between leader and members: job/launch/call.h.
  host_call = 30,     ///< member: {name, digest, data} a call of this host's
  call_start = 31,    ///< leader: {} every host has called: ranks will come
  call_drain = 32,    ///< leader: {grace_ms} end the call's ranks and daemons, then `call_drained`
  call_drained = 33,  ///< member: {}
  call_end = 34,      ///< leader: the call's result
  host_end = 35,      ///< member: a verdict, how this host's own program ended
  call_done = 36,     ///< member: {} what decides of this host's share of the call has ended;
                      ///< leader, in a stop: {} none of its ranks runs on any host
  // Steward stream, journal.
  phase = 40,    ///< {phase, message}: see job/wire/journal.h
  log = 41,      ///< {level, text}: muster's own line
  verdict = 42,  ///< the job's verdict as this host knows it
  mark = 43,     ///< {mark, bytes}: see job/wire/mark.h
  // A steward's control socket.
  stacks = 44,  ///< asked: {calls}; answered: job/wire/stacks.h
  alive = 45,   ///< asked: {}; answered: {}
  // The control socket of a job's record: `signal`, `stacks` and this.
  usage = 46,  ///< asked: {}; answered: {hosts}, then job/wire/usage.h of each
  // Link of a cluster's node: job/wire/node_messages.h, docs/protocols/node-link.md.
  node_hello = 50,      ///< node: its first frame
  node_welcome = 51,    ///< engine: what it has of the node's bytes
  node_begin = 52,      ///< engine: all hosts and their addresses; the steward may run
  node_began = 53,      ///< node: {} the steward runs
  node_beat = 54,       ///< both: {} I am here
  node_journal = 55,    ///< node: a piece of the journal
  node_have = 56,       ///< engine: how much of the journal it has
  node_stop = 57,       ///< engine: {grace_ms}
  node_signalled = 58,  ///< node: its scheduler signalled it to end
  node_ended = 59,      ///< node: how the steward ended; the engine has the whole journal
  node_give = 60,       ///< engine: {} the result is wanted
  node_result = 61,     ///< node: a piece of the result, as a tar
  node_given = 62,      ///< node: the result's size, or why it has none
  node_done = 63,       ///< engine: {} nothing more is wanted; the node removes all
  node_end = 64,        ///< engine: {why} the attempt is over, whatever still runs
  node_again = 65,      ///< engine: the node takes part in the job's next attempt
  node_look = 66,       ///< engine: {id, calls} what are the host's processes doing?
  node_stacks = 67,     ///< node: {id, stacks} or {id, why}
  node_note = 68,       ///< engine: {level, text} a line for the host's journal
  node_measure = 69,    ///< engine: {id} what does the host use?
  node_usage = 70,      ///< node: {id, usage} or {id, why}
};

constexpr std::uint8_t type_of(Message message) {
  return static_cast<std::uint8_t>(message);
}

}  // namespace muster::job
