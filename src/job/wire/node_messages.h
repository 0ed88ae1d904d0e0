#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "job/host_spec.h"
#include "job/outcome/outcome.h"
#include "job/spec.h"
#include "job/wire/stacks.h"
#include "job/wire/usage.h"

namespace muster::job {

/// What a cluster's node and the engine say to each other, and the file that a node is given.
/// Source: docs/protocols/node-link.md. A change that an older muster would not understand raises
/// `node_link_version`.
inline constexpr int node_link_version = 2;

/// Bytes of a journal or a result in one frame: at 7 kB/s each frame still counts as a beat in
/// time.
inline constexpr std::size_t node_piece_bytes_max = 64u << 10;
/// A host's lines end at 16 GiB (docs/protocols/journal.md); the rest is records of other kinds.
inline constexpr std::uint64_t node_journal_bytes_max = (std::uint64_t{16} << 30) + (64u << 20);
inline constexpr std::size_t node_job_bytes_max = 16u << 20;

/// How long each waits for the other. The engine decides; the node finds it in its file.
struct LinkTiming {
  std::chrono::milliseconds beat{2000};      ///< Between two beats.
  std::chrono::milliseconds silence{10000};  ///< Without a frame the connection counts as broken.
  std::chrono::milliseconds begin{600000};   ///< How long a node waits for the order to start.
  /// How long a node keeps the host's result after the host has ended and the engine was last
  /// heard.
  std::chrono::milliseconds linger{900000};
  /// How long a host continues without contact to the engine; 0: no limit.
  std::chrono::milliseconds alone{0};

  bool operator==(const LinkTiming&) const = default;
};

/// The image of a job's containers, which its node needs in addition to its spec.
struct NodeImage {
  std::string folder;    ///< Absolute: where the node keeps images.
  std::string manifest;  ///< The image's own documents.
  std::string config;
  /// Path prefix of layers that the node lacks, each followed by its number; they are kept. Empty:
  /// next to the job's folder, and the node removes them.
  std::string layers{};

  bool operator==(const NodeImage&) const = default;
};

/// What `sm node` is given: a file of mode 0600, which it removes when it has read it.
struct NodeJob {
  std::string nonce;                   ///< The attempt's: 16 hex digits.
  std::string key;                     ///< The attempt's, of its link: 32 bytes.
  std::string job_key;                 ///< The job's own, for its hosts: 32 bytes.
  std::vector<std::string> addresses;  ///< The engine's, numeric; tried in turn. At most 16.
  std::uint16_t port = 0;              ///< The engine's.
  std::string folder;                  ///< Absolute; made by the node, does not exist before.
  std::string archive;  ///< Absolute: a tar that is unpacked into `folder`; empty: none.
  /// "sha256:…": the archive is shared with other nodes, is checked and stays. Empty: this node's.
  std::string archive_digest{};
  Spec spec;  ///< Paths in it are of the node.
  bool light = false;
  std::optional<NodeImage> image{};  ///< There if `spec` has one.
  int rollcall_port = HostSpec{}.rollcall_port;
  /// From SIGTERM of the scheduler to its SIGKILL.
  std::chrono::milliseconds kill_wait{30000};
  LinkTiming timing{};

  bool operator==(const NodeJob&) const = default;
};
Json to_json(const NodeJob& job);
/// Error: `invalid_input`, naming the field.
Result<NodeJob> node_job_from(std::string_view text);

/// The TLS identity of a node, "<nonce>/algo-2", and its parts; none if it is malformed.
struct NodeIdentity {
  std::string nonce;
  std::string host;

  bool operator==(const NodeIdentity&) const = default;
};
std::string encode(const NodeIdentity& identity);
std::optional<NodeIdentity> node_identity_from(std::string_view identity);
/// Names of standby nodes: "spare-1" and so on.
std::vector<std::string> spare_names(int count);
bool is_spare(std::string_view host);
/// True for 16 lower-case hex digits.
bool is_nonce(std::string_view text);

/// What has become of a node's host.
enum class NodeState { waiting, running, ended };

/// A node's first frame. Of another version only `version` and `muster` are read.
struct NodeHello {
  int version = node_link_version;
  std::string muster = {};   ///< The program's version, for messages.
  std::string node = {};     ///< The node's name, one line of at most 255 bytes.
  std::string address = {};  ///< IPv4, of this connection: where other hosts reach it.
  NodeState state = NodeState::waiting;
  std::vector<int> lacks = {};  ///< Layers of its image that are to be brought, from 0.
  bool measures = false;        ///< The node knows what `measure` asks.

  bool operator==(const NodeHello&) const = default;
};
std::string encode(const NodeHello& hello);
Result<NodeHello> node_hello_from(std::string_view payload);  ///< Errors, here and below: protocol.

/// What the engine already has: the node continues from there.
struct NodeWelcome {
  int version = node_link_version;
  std::string muster = {};
  std::uint64_t journal_bytes = 0;
  std::uint64_t result_bytes = 0;

  bool operator==(const NodeWelcome&) const = default;
};
std::string encode(const NodeWelcome& welcome);
Result<NodeWelcome> node_welcome_from(std::string_view payload);

struct NodeBegin {
  std::vector<HostAddress> hosts;
  /// What the scheduler adds to `kill_wait` where it takes the nodes away for another job.
  std::chrono::milliseconds preempt_grace{0};

  bool operator==(const NodeBegin&) const = default;
};
std::string encode(const NodeBegin& begin);
Result<NodeBegin> node_begin_from(std::string_view payload);

struct NodeStop {
  std::chrono::milliseconds grace{0};  ///< 0 to stop_grace_max.
  /// Nothing is asked for: the scheduler's signal has `preempt_grace`, too.
  bool is_preemption = false;

  bool operator==(const NodeStop&) const = default;
};
std::string encode(const NodeStop& stop);
Result<NodeStop> node_stop_from(std::string_view payload);

/// A question of the engine's, numbered by it.
struct NodeLook {
  std::uint64_t id = 0;
  Calls calls = Calls::python;

  bool operator==(const NodeLook&) const = default;
};
std::string encode(const NodeLook& look);
Result<NodeLook> node_look_from(std::string_view payload);

struct NodeStacks {
  std::uint64_t id = 0;  ///< The question's.
  HostStacks stacks = {};
  std::string why = {};  ///< Why there are none; empty: there are.

  bool operator==(const NodeStacks&) const = default;
};
std::string encode(const NodeStacks& answer);
Result<NodeStacks> node_stacks_from(std::string_view payload);

/// A question of the engine's, numbered by it: what does the host use?
struct NodeMeasure {
  std::uint64_t id = 0;
  bool is_viewed = false;  ///< For somebody who looks: also the traffic of GPUs.

  bool operator==(const NodeMeasure&) const = default;
};
std::string encode(const NodeMeasure& measure);
Result<NodeMeasure> node_measure_from(std::string_view payload);

struct NodeUsage {
  std::uint64_t id = 0;  ///< The question's.
  Usage usage = {};
  std::string why = {};  ///< Why it was not passed on; empty: it was.

  bool operator==(const NodeUsage&) const = default;
};
std::string encode(const NodeUsage& answer);
Result<NodeUsage> node_usage_from(std::string_view payload);

/// The time of an event is sent as its age, because nodes' clocks differ.
struct NodeSignalled {
  int signal = 0;
  std::chrono::milliseconds ago{0};

  bool operator==(const NodeSignalled&) const = default;
};
std::string encode(const NodeSignalled& signalled);
Result<NodeSignalled> node_signalled_from(std::string_view payload);

struct NodeEnded {
  Outcome outcome;  ///< The steward's.
  std::chrono::milliseconds ago{0};

  bool operator==(const NodeEnded&) const = default;
};
std::string encode(const NodeEnded& ended);
Result<NodeEnded> node_ended_from(std::string_view payload);

struct NodeGiven {
  std::uint64_t bytes = 0;  ///< The tar's.
  std::string error = {};   ///< One line: why it has none; otherwise empty.

  bool operator==(const NodeGiven&) const = default;
};
std::string encode(const NodeGiven& given);
Result<NodeGiven> node_given_from(std::string_view payload);

struct NodeEnd {
  std::string why;  ///< One line.

  bool operator==(const NodeEnd&) const = default;
};
std::string encode(const NodeEnd& end);
Result<NodeEnd> node_end_from(std::string_view payload);

/// The node's part in the job's next attempt; all else is as in its NodeJob.
struct NodeAgain {
  std::string nonce;  ///< The attempt's: 16 hex digits.
  std::string key;    ///< The attempt's, of its link: 32 bytes.
  std::string host;   ///< "algo-2", or "spare-1".
  int rollcall_port = HostSpec{}.rollcall_port;

  bool operator==(const NodeAgain&) const = default;
};
std::string encode(const NodeAgain& again);
Result<NodeAgain> node_again_from(std::string_view payload);

/// Payload of `node_have`: a count of bytes.
std::string encode_node_have(std::uint64_t bytes);
Result<std::uint64_t> node_have_from(std::string_view payload);

/// Payload of `node_journal` and `node_result`: u64 offset, bytes.
inline constexpr std::size_t node_piece_header_bytes = 8;
struct NodePiece {
  std::uint64_t offset = 0;
  std::string_view bytes;  ///< At least one; of the payload.
};
void set_piece_offset(std::string& payload, std::uint64_t offset);
Result<NodePiece> node_piece_from(std::string_view payload);

}  // namespace muster::job
