#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/cpus.h"

// Decides whether a host or a rank runs on the processors next to its GPUs
// (docs/decisions/0074-numa.md). Pure except for read_numa().

namespace muster::devices {

/// A part of a machine: processors, and the memory and slots next to them.
struct NumaNode {
  int number = 0;
  Cpus cpus{};

  bool operator==(const NumaNode&) const = default;
};

/// A card of NVIDIA's.
struct NumaCard {
  int number = 0;             ///< N of /dev/nvidiaN.
  std::optional<int> node{};  ///< None: the machine does not say.

  bool operator==(const NumaCard&) const = default;
};

struct NumaMachine {
  std::vector<NumaNode> nodes;  ///< By number.
  std::vector<NumaCard> cards;  ///< By place on the bus, as CUDA and `nvidia-smi` count.
};

/// Reads the files of the kernel at `sys` ("/sys"), and of NVIDIA's driver at `driver`
/// (devices::Places::driver). What cannot be read is missing.
NumaMachine read_numa(const std::string& sys, const std::string& driver);

/// The part of `total` processors that `own` of `all` GPUs have; at least one.
std::size_t fair_share(std::size_t total, std::size_t own, std::size_t all);

struct NumaWish {
  std::vector<NumaCard> gpus;  ///< The host's.
  Cpus allowed;                ///< The processors that the host may use.
  std::size_t cpus = 0;        ///< How many of them are its share.
};
/// Where a host is next to its GPUs.
struct NumaPlace {
  std::vector<int> nodes{};  ///< The nodes of its GPUs, ascending; empty: it stays where it is.
  Cpus cpus{};               ///< The processors of these nodes that it may use.
  std::string why_not{};     ///< For people, if it stays there for a reason.
};
/// Stays without a reason where it is next to them anyway: on a machine of one node, and if its
/// GPUs are on all nodes whose processors it may use.
NumaPlace place_host(const std::vector<NumaNode>& nodes, const NumaWish& wish);

/// For each GPU of a host, in the order of its programs, the node that it belongs to. Empty if that
/// is unknown for one of them, or if all have the same.
std::vector<NumaNode> nodes_of_gpus(const std::vector<NumaNode>& nodes,
                                    const std::vector<NumaCard>& gpus);
/// As text for other processes: "0:0-15 1:16-31".
std::string numa_text(const std::vector<NumaNode>& nodes_of_gpus);
/// Empty for any other text.
std::vector<NumaNode> numa_from(std::string_view text);

/// The processors, of those `allowed`, where the rank `local_rank` of `local_size` ranks on its
/// host runs next to its GPU. None if not every rank has one GPU, or if its node has fewer
/// processors than the share of the ranks there.
std::optional<NumaNode> place_rank(const std::vector<NumaNode>& nodes_of_gpus, const Cpus& allowed,
                                   int local_rank, int local_size);

}  // namespace muster::devices
