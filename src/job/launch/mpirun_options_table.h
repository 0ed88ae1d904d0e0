#pragma once

#include <string>
#include <string_view>

#include "job/launch/plan.h"

namespace muster::launch {

// The options of every flavour's mpirun, as data. Pure.

/// One option of an mpirun.
struct MpirunOption {
  /// What it means to the plan.
  enum class Kind {
    plain,
    binds,
    maps,
    by_node,
    oversubscribes,
    prefix,
    verbose,
    interface,
    mca,           ///< NAME VALUE
    exports,       ///< NAME or NAME=VALUE
    export_value,  ///< NAME VALUE
    export_names,  ///< NAME,NAME,...
    set_already,
    refused
  };

  std::string_view name;  ///< Without its dashes: one or two of them are alike.
  int values = 0;
  Kind kind = Kind::plain;
  const char* why = nullptr;  ///< For `refused`.
};

/// nullptr if this mpirun has no such option.
const MpirunOption* find_mpirun_option(const MpiFlavour& flavour, std::string_view name);

/// For --help: the options of this mpirun that a user may give, then those that are refused; lines
/// of at most 100 columns, each ends in a line break.
std::string mpirun_options_help(const MpiFlavour& flavour);

// Why a job may not set something.
inline constexpr const char* hosts_are_ours = "muster sets the job's hosts";
inline constexpr const char* count_is_ours =
    "sagemaker_mpi_num_of_processes_per_host and sagemaker_mpi_num_processes set the number of "
    "ranks";
inline constexpr const char* wraps_ranks = "it changes the program that each rank runs";
inline constexpr const char* starts_nothing = "the job would end without running its program";
inline constexpr const char* daemons_are_ours = "muster starts the daemons";
inline constexpr const char* folder_is_ours = "ranks start in the code folder";
inline constexpr const char* variables_are_hosts =
    "each rank has the variables of its own host; -x NAME passes on the leader's";

}  // namespace muster::launch
