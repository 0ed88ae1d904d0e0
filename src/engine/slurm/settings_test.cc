#include "engine/slurm/settings.h"

#include <doctest/doctest.h>

namespace muster::slurm {
namespace {

using namespace std::chrono_literals;

TEST_CASE("settings: Slurm's text of its configuration, as 22.05 writes it") {
  const Settings settings = settings_from(
      "Configuration data as of 2026-11-22T10:00:00\n"
      "AccountingStoreFlags    = (null)\n"
      "KillWait                = 30 sec\n"
      "SLURM_VERSION           = 22.05.8\n"
      "SchedulerParameters     = bf_interval=30,defer\n"
      "\n"
      "Cgroup Support Configuration:\n"
      "ConstrainRAMSpace       = yes\n"
      "Slurmctld(primary) at login is UP\n");
  CHECK(settings.at("KillWait") == "30 sec");
  CHECK(settings.at("SchedulerParameters") == "bf_interval=30,defer");
  CHECK(settings.at("ConstrainRAMSpace") == "yes");
  CHECK(settings.size() == 5);
}

TEST_CASE("settings: spans of time") {
  CHECK(seconds_in("30 sec") == 30s);
  CHECK(seconds_in("2 min") == 120s);
  CHECK(seconds_in("15") == 15s);
  for (const char* text : {"", "sec", "-1 sec", "1 fortnight", "1 2 3", "99999999999 sec"})
    CHECK_FALSE(seconds_in(text));
}

TEST_CASE("settings: partitions, as sinfo prints them for each state of their nodes") {
  const std::vector<Partition> all = partitions_from(
      "main|up|1-00:00:00\nmain|up|1-00:00:00\nurgent|down|infinite\n\na line\n|up|1\n");
  CHECK(all ==
        std::vector<Partition>{{"main", "up", "1-00:00:00"}, {"urgent", "down", "infinite"}});
}

TEST_CASE("settings: a trial and a probe have the site's words, and no others") {
  const Site site{.partition = "gpu", .account = "lab", .options = {"--constraint=a100"}};
  CHECK(*plan_trial(site) == Args{"sbatch", "--test-only", "--nodes=1", "--time=5",
                                  "--partition=gpu", "--account=lab", "--constraint=a100",
                                  "--wrap=true"});
  const Result<Args> probe = plan_probe(site, 3);
  REQUIRE(probe);
  CHECK(probe->at(2) == "--nodes=3");
  CHECK(probe->at(probe->size() - 3) == "sh");
  CHECK(plan_trial({.partition = "--uid=0"}).error().code == Errc::invalid_input);
  CHECK(plan_probe({.options = {"--uid=0"}}, 1).error().code == Errc::invalid_input);
}

TEST_CASE("settings: lines that nodes print about themselves are parsed, other lines are skipped") {
  const std::vector<NodeWord> words = node_words_from(
      "a motd\n"
      "muster|node1|1769860800.5|1048576|yes|cgroup2fs|/usr/bin/runc|/usr/bin/python3\n"
      "muster|node2|1769860801.25|12|no|tmpfs||\n"
      "muster|node3|x|12|no|||\n"
      "muster||1|12|no|||\n");
  REQUIRE(words.size() == 2);
  CHECK(words[0].clock == 1769860800.5);
  CHECK(words[0].user_namespaces);
  CHECK(words[0].runc == "/usr/bin/runc");
  CHECK(words[0].cgroups == "cgroup2fs");
  CHECK(words[1].free_kib == 12);
  CHECK(words[1].python.empty());
}

TEST_CASE("settings: plugins that may choose a job's partition") {
  CHECK(!may_route({}));
  CHECK(!may_route(settings_from("CliFilterPlugins = (null)\nJobSubmitPlugins        = (null)\n")));
  CHECK(!may_route(settings_from("JobSubmitPlugins = \n")));
  CHECK(may_route(settings_from("JobSubmitPlugins        = lua\n")));
  CHECK(may_route(settings_from("JobSubmitPlugins = (null)\nCliFilterPlugins = lua\n")));
}

TEST_CASE("settings: a partition's grace for jobs whose nodes it takes away") {
  CHECK(plan_show_partition("main") == Args{"scontrol", "-o", "show", "partition", "main"});
  CHECK(grace_time("PartitionName=main ExclusiveUser=NO GraceTime=25 Hidden=NO") == 25s);
  CHECK(grace_time("PartitionName=main GraceTime=0\n") == 0s);
  for (const char* none : {"", "PartitionName=main", " GraceTime=", " GraceTime=x "})
    CHECK(!grace_time(none));
}

}  // namespace
}  // namespace muster::slurm
