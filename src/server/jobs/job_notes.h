#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::jobs {

// What a job's notes in the store say, one per line: DescribeTrainingJob's MusterNotes, except
// those that it returns as members of their own. Pure.

/// The note of a job that runs an image: "runs image docker.io/team/box:v1, sha256:…".
std::string image_note(const std::string& name, const std::string& digest);
/// The image in such a note, from a job's notes; empty: it runs no image, or has not started.
struct NotedImage {
  std::string name;
  std::string digest;
};
NotedImage noted_image(std::string_view notes);

/// The notes with where the host runs next to its GPUs, in place of an earlier report of that host.
std::string with_numa_note(std::string_view notes, const std::string& host,
                           const std::string& report);
/// The NUMA reports, by host, and the other notes.
struct SplitNotes {
  std::map<std::string, std::string> numa;
  std::vector<std::string> others;
};
SplitNotes split_notes(std::string_view notes);

}  // namespace muster::jobs
