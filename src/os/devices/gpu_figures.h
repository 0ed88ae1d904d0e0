#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "job/wire/usage.h"

// Pure: the driver tool's figures of working GPUs (docs/decisions/0059-gpu-figures.md).

namespace muster::devices {

/// `nvidia-smi`, telling of each GPU in a line each second, until it is ended. `whole`: with
/// GpuFigures::state; a driver that does not know one of these fields refuses all.
Args figures_command(bool whole);

/// One of these lines.
struct GpuFigures {
  int index = 0;    ///< As the tool counts.
  std::string bus;  ///< bus_name() of its place.
  int percent = 0;  ///< Time in which some program ran on it.
  std::int64_t memory_bytes = 0;
  job::GpuState state{};

  bool operator==(const GpuFigures&) const = default;
};
/// Reads the lines of both commands. None for a malformed line, or a GPU without a utilization:
/// "[N/A]" for a part of a card.
std::optional<GpuFigures> figures_from(std::string_view line);

/// `nvidia-smi dmon`, telling of the traffic of each GPU in a line each second, until it is ended.
/// `whole`: with NVLink's, which older drivers and cards before Hopper do not report.
Args traffic_command(bool whole);

/// Reads its lines: the columns are those that its last head names.
class TrafficReader {
 public:
  /// The tool's number of a card, and the card's traffic. None for heads and other lines.
  std::optional<std::pair<int, job::GpuTraffic>> take(std::string_view line);

 private:
  std::vector<std::string> columns_;
};

/// A whole number of 0 to `most`, spaces around it or not; none for any other text.
std::optional<std::int64_t> number_up_to(std::string_view text, std::int64_t most);

/// "00000000:0B:00.0" and "0000:0b:00.0" are one place.
std::string bus_name(std::string_view text);

/// The place and the number of a GPU, by a file /proc/driver/nvidia/gpus/*/information.
std::optional<std::pair<std::string, int>> gpu_place_from(std::string_view text);

/// N of a device file "/dev/nvidiaN"; none for another.
std::optional<int> gpu_number(std::string_view path);

/// The GPUs of CUDA_VISIBLE_DEVICES or SLURM_STEP_GPUS: "0,3"; none where it names them otherwise
/// ("GPU-…").
std::vector<int> gpu_numbers(std::string_view visible);

}  // namespace muster::devices
