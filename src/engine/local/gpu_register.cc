#include "engine/local/gpu_register.h"

#include "base/fd.h"
#include "base/text.h"
#include "engine/job_folder.h"
#include "engine/local/register.h"

namespace muster::local {
namespace {

struct Line {
  std::string host;
  std::string files;
  std::string job_folder;
};

/// Lines of jobs that live; what is not understood is dropped.
std::vector<Line> living_lines(std::string_view text) {
  std::vector<Line> lines;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() == 3 && engine::is_locked(fields[2]))
      lines.push_back({fields[0], fields[1], fields[2]});
  }
  return lines;
}

}  // namespace

Result<std::vector<std::vector<devices::Gpu>>> allocate_gpus(
    const std::string& register_file, const std::string& job_folder,
    const std::vector<devices::Gpu>& gpus, const std::vector<devices::Wish>& wishes,
    const devices::Topology& topology, const std::vector<devices::Holding>& unfit) {
  const Fd lock = TRY(lock_register(register_file));
  const Result<std::string> text = read_file(register_file);
  if (!text && text.error().code != Errc::not_found) return text.error();
  std::vector<Line> lines = living_lines(text.value_or(""));
  std::vector<devices::Holding> held = unfit;
  for (const Line& line : lines)
    held.push_back({.files = split(line.files, ','),
                    .host = line.host,
                    .job = line.job_folder.substr(line.job_folder.rfind('/') + 1)});
  std::vector<std::vector<devices::Gpu>> assigned =
      TRY(devices::assign(gpus, held, wishes, topology));
  for (std::size_t i = 0; i < assigned.size(); ++i)
    for (const devices::Gpu& gpu : assigned[i])
      lines.push_back({wishes[i].host, join(gpu.files(), ","), job_folder});
  std::string all;
  for (const Line& line : lines)
    all += line.host + "\t" + line.files + "\t" + line.job_folder + "\n";
  TRY(write_file(register_file, all, 0600));
  return assigned;
}

}  // namespace muster::local
