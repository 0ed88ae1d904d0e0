#include "engine/local/stewards.h"

#include <vector>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "os/supervise/process_stat.h"

namespace muster::local {
namespace {

std::string pid_file(const std::string& host_folder) {
  return host_folder + "/steward.pid";
}

}  // namespace

std::string started_at(pid_t pid) {
  const std::optional<supervise::ProcessStat> stat = supervise::stat_of(pid);
  return stat ? std::to_string(stat->started) : std::string();
}

Result<void> write_steward(const std::string& host_folder, pid_t pid) {
  return write_file(pid_file(host_folder), std::to_string(pid) + " " + started_at(pid) + "\n",
                    0600);
}

Result<WrittenSteward> written_steward(const std::string& host_folder) {
  const std::string path = pid_file(host_folder);
  const std::string text = TRY(read_file(path));
  if (text.empty()) return fail(Errc::not_found, path + ": the file is empty");
  const std::vector<std::string> words = split_words(text);
  const std::optional<std::int64_t> pid =
      words.size() == 2 ? parse_integer(words[0]) : std::nullopt;
  if (!pid || *pid <= 0)
    return fail(Errc::protocol, path + ": expected a process ID and a start time");
  return WrittenSteward{static_cast<pid_t>(*pid), words[1]};
}

std::map<std::string, pid_t> living_stewards(const std::string& job_folder) {
  std::map<std::string, pid_t> living;
  for (const std::string& host : names_in(job_folder).value_or({})) {
    if (!host.starts_with("algo-")) continue;
    const Result<WrittenSteward> steward = written_steward(job_folder + "/" + host);
    if (steward && started_at(steward->pid) == steward->started) living[host] = steward->pid;
  }
  return living;
}

}  // namespace muster::local
