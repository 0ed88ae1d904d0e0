#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace muster::job {

/// What NCCL's service for diagnosis (RAS) says about the communicators of a job. All of it is a
/// job's own text.
struct NcclReport {
  /// The collective operations that ranks have started.
  enum class Collectives {
    unknown,  ///< RAS does not answer, or its answer permits no conclusion.
    none,     ///< No rank has started any, so none can be open.
    open,     ///< Ranks have started different numbers: some wait in one for the others.
  };
  Collectives collectives = Collectives::unknown;
  /// What an operator should know, for people: "communicator 0x1f of 4 ranks: AllReduce: ranks 0-2
  /// started 11, rank 3 started 10". Empty: nothing.
  std::vector<std::string> lines{};

  bool operator==(const NcclReport&) const = default;
};

// More than these are left out.
constexpr std::size_t nccl_lines_max = 20;
constexpr std::size_t nccl_line_bytes_max = 200;
constexpr std::size_t nccl_answer_bytes_max = 1u << 20;

/// What to send to RAS, at once. It answers in JSON from NCCL 2.28 on; older versions reject that
/// command and answer in text. The timeout, in seconds, is for the ranks that RAS asks in turn.
/// Source: ras/client_support.cc of NCCL, read 2026-11-27.
constexpr std::string_view nccl_request =
    "CLIENT PROTOCOL 2\nTIMEOUT 1\nSET FORMAT json\nVERBOSE STATUS\n";

/// Reads the answer to it, whole or cut off, or what else a job's program sends. Pure.
NcclReport nccl_report_from(std::string_view answer);

/// {"collectives": "open", "lines": ["…"]}
Json to_json(const NcclReport& report);
/// Error: `protocol`. Longer lines, and more lines, are cut off.
Result<NcclReport> nccl_report_from_json(const Json& json);

}  // namespace muster::job
