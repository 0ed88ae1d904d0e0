#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/command.h"
#include "base/result.h"
#include "job/launch/plan.h"

namespace muster::launch {

/// How ranks are laid over hosts: host after host, one each in turn, or as mpirun decides.
enum class Mapping { by_slot, by_node, other };

/// The user's own mpirun options (hyperparameter sagemaker_mpi_custom_mpi_options), understood.
struct CustomOptions {
  /// For mpirun's line, as given but for --NCCL_DEBUG and what is already set; for hydra also
  /// without what is exported.
  Args words;
  std::map<std::string, std::string> mca;  ///< -mca NAME VALUE, also in `words`.
  std::map<std::string, std::optional<std::string>> exported;  ///< -x; for hydra -genv and alike.
  std::optional<std::string> nccl_debug;                       ///< --NCCL_DEBUG
  bool verbose = false;                                        ///< -v, -verbose
  bool interface = false;                                      ///< -iface
  bool binds = false;                                          ///< Says what ranks are bound to.
  bool prefix = false;          ///< --prefix: mpirun changes PATH and LD_LIBRARY_PATH of ranks.
  bool oversubscribes = false;  ///< More ranks than slots are wanted.
  std::optional<Mapping> mapping;
};

/// Error: `invalid_input` naming the option: unknown to this mpirun, short of a value, given twice
/// (-mca), or one that muster sets itself because the job rests on it.
Result<CustomOptions> parse_custom_options(std::string_view text, const MpiFlavour& flavour = {});

/// Splits as a POSIX shell does with '…', "…" and \, and expands nothing.
/// Error: `invalid_input` for a quote that is not closed.
Result<Args> split_quoted(std::string_view text);

/// Why a user may not set the MCA parameter `name`, in a few words; nullptr if they may.
const char* why_mca_refused(std::string_view name);

}  // namespace muster::launch
