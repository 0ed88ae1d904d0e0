#pragma once

#include <optional>
#include <string>

#include "cli/fit/fit_options.h"
#include "cli/fit/places.h"
#include "job/spec.h"
#include "platform/interpreter.h"

namespace muster::cli {

/// A note for users who start a job in this machine's own network.
inline constexpr const char* host_network_note =
    "network: host: this job can reach every service on this machine, even those that listen on "
    "localhost only, and shares the machine's ports";

/// The job that the options ask for. Pure. `path`: the submitter's PATH.
/// Error: `invalid_input`, as job::check() says it.
Result<job::Spec> fit_spec(const FitOptions& options, const Places& places,
                           const std::optional<platform::Interpreter>& interpreter,
                           const std::string& name, const std::string& path);

/// What to know before a job starts whose limits of a host are beyond the whole machine, and so
/// limit nothing; empty: they are not. 0: not known.
std::string beyond_machine_note(const FitOptions& options, std::int64_t machine_memory_bytes,
                                int machine_processors);

}  // namespace muster::cli
