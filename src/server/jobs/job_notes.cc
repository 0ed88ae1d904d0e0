#include "server/jobs/job_notes.h"

#include "base/text.h"
#include "image/reference.h"
#include "job/wire/journal.h"

namespace muster::jobs {
namespace {

constexpr std::string_view image_start = "runs image ";
constexpr std::string_view between = ", ";
constexpr std::string_view behind_host = ": ";

}  // namespace

std::string image_note(const std::string& name, const std::string& digest) {
  return std::string(image_start) + name + std::string(between) + digest;
}

NotedImage noted_image(std::string_view notes) {
  for (const std::string& line : split(notes, '\n')) {
    const std::size_t comma = line.rfind(between);
    if (!line.starts_with(image_start) || comma == std::string::npos) continue;
    const std::string digest = line.substr(comma + between.size());
    if (image::is_digest(digest))
      return {line.substr(image_start.size(), comma - image_start.size()), digest};
  }
  return {};
}

std::string with_numa_note(std::string_view notes, const std::string& host,
                           const std::string& report) {
  SplitNotes all = split_notes(notes);
  all.numa[host] = report;
  for (const auto& [each, text] : all.numa)
    all.others.push_back(std::string(job::numa_report) + each + std::string(behind_host) + text);
  return join(all.others, "\n");
}

SplitNotes split_notes(std::string_view notes) {
  SplitNotes all;
  if (notes.empty()) return all;
  for (const std::string& line : split(notes, '\n')) {
    const std::size_t start = job::numa_report.size();
    const std::size_t colon = line.find(behind_host, start);
    if (!line.starts_with(job::numa_report) || colon == std::string::npos)
      all.others.push_back(line);
    else
      all.numa[line.substr(start, colon - start)] = line.substr(colon + behind_host.size());
  }
  return all;
}

}  // namespace muster::jobs
