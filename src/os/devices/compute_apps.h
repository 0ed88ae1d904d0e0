#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"

// Pure: which processes hold memory of which card.

namespace muster::devices {

/// `nvidia-smi`, which lists the processes on each card every five seconds, until it is ended. It
/// does not name them: the name of a process is a job's own text.
Args compute_apps_command();

/// One of its lines.
struct ComputeApp {
  std::string bus;       ///< bus_name() of the card's place.
  std::int64_t pid = 0;  ///< In the pid namespace of the tool.
  std::int64_t memory_bytes = 0;

  bool operator==(const ComputeApp&) const = default;
};
/// None for a malformed line, or without a figure: "[N/A]".
std::optional<ComputeApp> compute_app_from(std::string_view line);

/// True for text in which a program reports that a card's memory is exhausted: CUDA's words,
/// PyTorch's, XLA's.
bool tells_of_card_memory(std::string_view text);

}  // namespace muster::devices
