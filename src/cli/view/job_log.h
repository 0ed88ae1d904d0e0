#pragma once

#include "cli/server_client.h"
#include "cli/view/log_filter.h"
#include "cli/view/render.h"

namespace muster::cli {

struct JobLogOptions {
  bool follow = false;  ///< Until the job's end, polling once a second.
  bool json = false;    ///< Lines as docs/protocols/fit-json.md has them; else text.
  bool raw = false;     ///< Lines reach a terminal as they are (RenderOptions::raw).
  LogFilter filter{};
  std::string folder{};  ///< If set, a LogFolder there gets all lines instead of client.out.
};

/// The error names the hosts that the job has.
Error no_such_host(const std::string& job, const std::string& host, int hosts);

/// Shows a job's statuses and all hosts' lines on client.out, in order of time. When following, new
/// lines are shown as they arrive. At the end of a followed job, its end is shown, too, with a
/// failure on standard error, and the exit code is the job's. With a tail, the first read shows
/// only the last entries; all lines that arrive later are shown. While following, it waits for a
/// server that is unreachable for a moment. Errors: as describe() and ApiClient::call();
/// `invalid_input`: the job has no such host.
loop::Task<Result<int>> show_log(Client& client, std::string job, JobLogOptions options);

}  // namespace muster::cli
