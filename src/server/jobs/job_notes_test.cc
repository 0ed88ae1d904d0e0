#include "server/jobs/job_notes.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

using Lines = std::vector<std::string>;
using Reports = std::map<std::string, std::string>;

TEST_CASE("job notes: the digest that ran is read out of a job's notes") {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string notes = "network: none\n" + image_note("reg.lab:5000/a, b:v1", digest) + "\nx";
  CHECK(noted_image(notes).name == "reg.lab:5000/a, b:v1");
  CHECK(noted_image(notes).digest == digest);
  for (const std::string text :
       {"", "network: none", "runs image a", "runs image a, sha256:12", "runs as this machine"})
    CHECK(noted_image(text).digest.empty());
}

TEST_CASE("job notes: a host's last NUMA report is kept beside the other notes") {
  std::string notes = with_numa_note("", "algo-2", "CPUs 0-7: node 0");
  CHECK(notes == "NUMA: algo-2: CPUs 0-7: node 0");
  notes = with_numa_note("network: none\n" + notes + "\nSlurm job 17", "algo-1", "no room");
  notes = with_numa_note(notes, "algo-2", "CPUs 8-15");
  CHECK(split_notes(notes).numa == Reports{{"algo-1", "no room"}, {"algo-2", "CPUs 8-15"}});
  CHECK(split_notes(notes).others == Lines{"network: none", "Slurm job 17"});
  CHECK(split_notes("NUMA: nonsense").others == Lines{"NUMA: nonsense"});
  CHECK(split_notes("").others.empty());
}

}  // namespace
}  // namespace muster::jobs
