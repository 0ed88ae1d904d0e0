#pragma once

#include "base/command.h"

namespace muster::cli {

/// `sm fit`, `sm clean`, `sm doctor` and the like. They return the exit code (exit_codes.h).
int fit_main(const Args& args, const Env& env);
int clean_main(const Args& args, const Env& env);
int doctor_main(const Args& args, const Env& env);
/// `sm image import` and its like: the images that jobs on this machine run in.
int image_main(const Args& args, const Env& env);

/// What Slurm says, on a machine of a cluster where `squeue` and `sinfo` work.
int queue_main(const Args& args, const Env& env);
int nodes_main(const Args& args, const Env& env);

/// Clients of `sm server`, or of whatever AWS_ENDPOINT_URL of `env` names.
int submit_main(const Args& args, const Env& env);
int jobs_main(const Args& args, const Env& env);
int describe_main(const Args& args, const Env& env);
int logs_main(const Args& args, const Env& env);
int timeline_main(const Args& args, const Env& env);
int stacks_main(const Args& args, const Env& env);
int top_main(const Args& args, const Env& env);
int trace_main(const Args& args, const Env& env);
int ui_main(const Args& args, const Env& env);
int wait_main(const Args& args, const Env& env);
int rerun_main(const Args& args, const Env& env);
int stop_main(const Args& args, const Env& env);
int download_main(const Args& args, const Env& env);
int delete_main(const Args& args, const Env& env);

}  // namespace muster::cli
