#pragma once

#include "cli/client.h"
#include "cli/view/log_filter.h"
#include "cli/view/render.h"

namespace muster::cli {

struct JobLogOptions {
  bool follow = false;  ///< To the job's end, looking once a second.
  bool json = false;    ///< Lines as docs/protocols/fit-json.md has them; else text.
  bool raw = false;     ///< Lines reach a terminal as they are (RenderOptions::raw).
  LogFilter filter{};
  std::string folder{};  ///< Files get it all instead of client.out: a LogFolder's. Empty: none do.
};

/// Says which hosts the job has.
Error no_such_host(const std::string& job, const std::string& host, int hosts);

/// Shows a job's statuses and all hosts' lines on client.out, in order of time; lines that come
/// while it follows, in order of their coming. Followed to its end, the job's end is told too:
/// its failure on standard error. The exit code is the job's if it was followed.
/// With a tail the first look shows only the last entries; what comes while it follows is shown
/// all. Errors: as describe() and ApiClient::call(); `invalid_input`: a host that the job does not
/// have; while it follows, a server that is away for a moment is waited for.
loop::Task<Result<int>> show_log(Client& client, std::string job, JobLogOptions options);

}  // namespace muster::cli
