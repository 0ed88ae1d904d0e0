#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::job {

/// A moment on a host's way from nothing to its first rank, in the order in which they come.
enum class Mark {
  root,      ///< The host's folders and its root file system are there.
  inputs,    ///< Channels, code of the platform and earlier checkpoints are there.
  begun,     ///< The first program of muster's runs in the host: `train`, or an operator.
  joined,    ///< The roll call has the host: a member was let in, the leader listens.
  gathered,  ///< All hosts of the job are there.
  checked,   ///< The preflight is over, or there was none.
  code,      ///< The user's code is in its folder.
  packages,  ///< pip has installed what the code asks for; comes only where it was run.
  launched,  ///< The host's share of the work begins: its program, or the launcher's ranks.
  rank,      ///< The first rank of this host runs.
};

std::string_view mark_name(Mark mark);
std::optional<Mark> mark_named(std::string_view name);

/// True for what happens inside of a host, which is the host's own word; the others are its
/// steward's.
constexpr bool is_hosts_own(Mark mark) {
  return mark >= Mark::begun;
}

/// Payload of a `mark` record or frame: {mark, bytes}. The record's time is the moment.
struct Moment {
  Mark mark = Mark::root;
  std::int64_t bytes = -1;  ///< Bytes that `inputs` fetched; -1: unknown.

  bool operator==(const Moment&) const = default;
};
std::string encode(const Moment& moment);
/// Error: `protocol`, or `invalid_input` for text that is not JSON.
Result<Moment> moment_from(std::string_view payload);

}  // namespace muster::job
