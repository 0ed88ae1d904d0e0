#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "job/launch/operators.h"

namespace muster::launch {

// What the planners of operators share. Pure.

/// The index of `site.self` among the hosts. Error: `invalid_input`: it is missing, there are no
/// hosts, or a host is listed twice.
Result<int> place_of_self(const Site& site);

/// What the other programs call a host by: its name, or 127.0.0.1 where a host is alone (outside a
/// job its name may mean nothing).
std::string name_for_programs(const Site& site, std::size_t host);

/// The n-th port that a host offered, of those that `who` needs. Error: `invalid_input`.
Result<std::string> port_of(const Site& site, std::size_t host, std::size_t n,
                            const std::string& who);

/// Error: `invalid_input`, naming `flag`, unless 1 <= `number` <= what fits `hosts` hosts.
Result<void> check_count(const std::string& flag, int number, std::size_t hosts);

/// Processes for each host where all hosts get as many: the GPUs that each of them has, 1 without.
/// Error: `invalid_input`, naming two hosts that differ, and `flag` as what to say instead.
Result<int> even_processes(const Site& site, const std::string& flag);

/// Processes on each host: as many as `asked` for, else one for each GPU of the host's own, one
/// without. Error: `invalid_input`, naming `flag`: a number that cannot be, or GPUs on some hosts
/// and none on others.
Result<std::vector<int>> process_counts(const Site& site, std::optional<int> asked,
                                        const std::string& flag);

/// Error: `invalid_input`, if there is nothing to run. `what`: "a trainer".
Result<void> check_command(const Command& command, const std::string& what);

/// A plan without programs.
HostPlan direct_plan(const Site& site, const Command& command);

/// A Python script goes to the interpreter, anything else is started itself.
Args started(const std::string& python, const Args& words);

/// The GPUs of the `n`-th of `sharers` programs on a host, for CUDA_VISIBLE_DEVICES: equal runs,
/// or one GPU in turn where there are more programs than GPUs.
std::string share_of_gpus(int gpus, int n, int sharers);

/// Splits a host's GPUs among its programs, unless the user did. Alone, a program sees them all.
void set_gpus(Env& env, int gpus, int n, int sharers);

}  // namespace muster::launch
