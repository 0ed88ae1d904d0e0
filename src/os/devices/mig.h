#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "os/devices/gpu.h"

// Parts of NVIDIA's cards (MIG): each is a compute instance of a GPU instance, and has the card's
// device file and those of two capabilities. Pure except for read_mig().
// Source: "Device Nodes and Capabilities" of NVIDIA's MIG user guide, read 2026-11-27.

namespace muster::devices {

struct MigPart {
  int card = 0;              ///< N of /dev/nvidiaN.
  int gpu_instance = 0;      ///< Number on the card.
  int compute_instance = 0;  ///< Number in the GPU instance.
  int gpu_capability = 0;    ///< N of /dev/nvidia-caps/nvidia-capN.
  int compute_capability = 0;

  bool operator==(const MigPart&) const = default;
};

/// The parts that exist, by the driver's folder "/proc/driver/nvidia/capabilities".
std::vector<MigPart> read_mig(const std::string& capabilities);

/// `cards` without those that have parts, and with these parts instead: a card in parts can only be
/// used by them. `dev`: where /dev lies.
std::vector<Gpu> in_parts(const std::vector<Gpu>& cards, const std::vector<MigPart>& parts,
                          const std::string& dev);

/// True for a part of a card, by its device files.
bool is_part(const Gpu& gpu);

/// The tool, which lists UUIDs, and its table, which says what those are of.
Args mig_list_command();
Args mig_table_command();

/// A part as the tool calls it.
struct MigName {
  int index = 0;   ///< The card's number, as the tool counts.
  int device = 0;  ///< The part's number on the card.
  std::string uuid{};
  /// Numbers of the instances; none if the table does not have the part.
  std::optional<int> gpu_instance{};
  std::optional<int> compute_instance{};

  bool operator==(const MigName&) const = default;
};
/// Reads what both printed. In the table, names of processes are jobs' own text: nothing from the
/// list of processes on is read.
std::vector<MigName> mig_names_in(std::string_view list, std::string_view table);

/// Sets Gpu::uuid of parts that do not have one. `cards`: numbers of the cards (/dev/nvidiaN) in
/// the order in which the tool counts them; empty: its numbers are the same.
void set_uuids(std::vector<Gpu>& gpus, const std::vector<MigName>& names,
               const std::vector<int>& cards);

}  // namespace muster::devices
