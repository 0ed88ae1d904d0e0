#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace muster::coordinate {

/// The messages of the roll call itself. Pure: text in, text out. Source:
/// docs/protocols/rollcall.md; an incompatible change there raises `wire_version`.
constexpr int wire_version = 1;

constexpr std::size_t join_bytes_max = 64u << 10;

/// A member's first frame. If its version differs, only `version` and `muster` are read.
struct Join {
  int version = wire_version;
  std::string muster = {};  ///< The program's version, for messages.
  std::string host = {};

  bool operator==(const Join&) const = default;
};

struct Welcome {
  int version = wire_version;
  std::string muster = {};
  std::chrono::milliseconds wait{0};  ///< How long the leader will wait for the others.

  bool operator==(const Welcome&) const = default;
};

struct Refuse {
  std::string why;
  bool retry = false;  ///< Whether the same join may succeed later.

  bool operator==(const Refuse&) const = default;
};

std::string encode(const Join& join);
std::string encode(const Welcome& welcome);
std::string encode(const Refuse& refuse);
/// Errors: `protocol`.
Result<Join> join_from(std::string_view payload);
Result<Welcome> welcome_from(std::string_view payload);
Result<Refuse> refuse_from(std::string_view payload);

/// The TLS identity of a host, "job/algo-2", and the host in it; empty if it belongs to another
/// job.
std::string identity_of(const std::string& job, const std::string& host);
std::string host_in(const std::string& identity, const std::string& job);

/// "15 min", "90 s", "200 ms".
std::string spell(Duration duration);

}  // namespace muster::coordinate
