#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/result.h"
#include "os/devices/gpu.h"

// Pure: what NVIDIA's driver says about the health of its cards.

namespace muster::devices {

/// Prints all that the driver says about its cards: tens of milliseconds, seconds where the driver
/// has to be loaded for it.
Args card_health_command();

struct CardHealth {
  std::string bus{};            ///< bus_name() of its place.
  std::optional<int> number{};  ///< N of /dev/nvidiaN; none: the driver lost it.
  /// Why no job may have it, for people: "needs a reset". Empty: jobs may.
  std::string sickness{};
  /// What a person should know besides: "3 uncorrected memory errors since the last reset".
  std::vector<std::string> remarks{};
  std::int64_t memory_used_bytes = 0;
  std::vector<std::int64_t> processes{};  ///< Have it open; the machine's numbers.

  bool operator==(const CardHealth&) const = default;
};

/// Reads what card_health_command() printed. Names of processes in it are jobs' own text, which may
/// look like lines of the driver; text in which a card occurs twice, or more cards than it says at
/// its head, is not believed. A driver that lost a card prints one line about it and nothing else.
/// Error: `invalid_input`, with the tool's own message if it printed one instead.
/// Source: NVIDIA's "GPU Memory Error Management" (docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt)
/// on which flags allow new work, read 2026-11-27; nvidia-smi(1) of drivers 418 and 580.
Result<std::vector<CardHealth>> card_health_in(std::string_view text);

/// Adds remarks by the tool's numbers of the cards, which are their places in the list.
void add_remarks(std::vector<CardHealth>& cards,
                 const std::map<int, std::vector<std::string>>& remarks);
/// Adds the numbers of lost cards. `places`: gpu_places().
void add_numbers(std::vector<CardHealth>& cards, const std::map<std::string, int>& places);
/// The card of `gpu`, or of which it is a part; null: the driver does not speak of it.
const CardHealth* card_of(const Gpu& gpu, const std::vector<CardHealth>& cards);
/// "GPU 3" for /dev/nvidia3; "the GPU at 0b:00.0" if its number is unknown.
std::string name_of(const CardHealth& card);
/// The remarks about it, and who uses its memory, each with its name: before a job has it.
std::vector<std::string> remarks_on(const CardHealth& card);

}  // namespace muster::devices
