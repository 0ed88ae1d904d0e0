#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "job/spec.h"
#include "platform/job_run.h"

namespace muster::places {

/// A job of this machine in the form of DescribeTrainingJob's answer, so that it is shown as a
/// server's is. Members that AWS does not have begin with "Muster" (docs/protocols/job-record.md).
/// Pure.

/// The job as it was asked for. Variables of its environment may be secrets, and are left out.
Json description_of(const job::Spec& spec, UnixMillis now);

/// Sets the current status. For consecutive messages of one status, the last one is kept.
void add_status(Json& description, const platform::StatusLine& line);

/// Marks the job as one that hangs or is silent; none: removes the mark.
void add_standstill(Json& description, const std::optional<platform::Standstill>& what);

/// Where a host is next to its GPUs, by a line of its log. Other lines mean nothing here.
void add_log(Json& description, const std::string& host, const job::LogLine& line);

/// How it ended. `exit_code`: that of `sm fit`.
void add_end(Json& description, const platform::JobReport& report, int exit_code);

/// Completed, Failed or Stopped.
bool has_ended(const Json& description);

/// The process that carried it was gone without a word by `time`, and its hosts with it.
void add_loss(Json& description, UnixMillis time);

/// The job's entry in ListTrainingJobs.
Json summary_of(const Json& description);

}  // namespace muster::places
