#include "os/supervise/stop_plan.h"

#include <doctest/doctest.h>

#include <string>

using namespace muster;
using namespace muster::supervise;

namespace {

/// A process that dies of SIGTERM.
StopProcess process(pid_t pid, pid_t parent, Args argv) {
  StopProcess made;
  made.pid = pid;
  made.parent = parent;
  made.argv = std::move(argv);
  return made;
}
StopProcess minding(StopProcess made) {
  made.minds = true;
  return made;
}
StopProcess ignoring(StopProcess made) {
  made.ignores = true;
  return minding(std::move(made));
}
StopProcess with_ampersand(StopProcess made) {
  made.asynchronous = true;
  return made;
}
StopProcess of_muster(StopProcess made) {
  made.ours = true;
  return made;
}

std::string numbers(const std::vector<pid_t>& pids) {
  std::string text;
  for (const pid_t pid : pids) text += (text.empty() ? "" : ",") + std::to_string(pid);
  return text;
}

/// For each process "PID", with "!" if it gets the signal now, ">PID,PID" if after those, and "..."
/// if waited for.
std::string story(const std::vector<StopProcess>& processes) {
  std::string text;
  for (const StopStep& step : plan_stop(processes, processes.front().pid)) {
    text += (text.empty() ? "" : " ") + std::to_string(step.pid);
    if (step.told) text += step.after.empty() ? "!" : ">" + numbers(step.after);
    if (step.awaited) text += "...";
  }
  return text;
}

}  // namespace

TEST_CASE("stop plan: when each process gets the signal, and which are waited for") {
  const StopProcess sh = process(1, 0, {"/bin/sh", "train.sh"});
  const StopProcess bash = process(1, 0, {"bash", "./train.sh"});
  const StopProcess saves = minding(process(2, 1, {"python3", "t.py"}));
  struct {
    const char* name;
    std::vector<StopProcess> given;
    std::string want;
  } const cases[] = {
      {"a program alone", {process(1, 0, {"./t"})}, "1!..."},
      {"that saves its work", {minding(process(1, 0, {"./t"}))}, "1!..."},
      {"a shell goes after what it runs", {sh, saves}, "1>2... 2!..."},
      {"but at once where nobody minds", {sh, process(2, 1, {"sleep"})}, "1!... 2!..."},
      {"a launcher without a handler and its workers, one of them starting up",
       {process(1, 0, {"python3", "spawn.py"}), saves, process(3, 1, {"python3"})},
       "1>2... 2!... 3>2..."},
      {"the end of a pipeline", {sh, saves, process(3, 1, {"tee", "log"})}, "1>2... 2!... 3>2..."},
      {"a helper with & that does not end",
       {sh, with_ampersand(minding(process(2, 1, {"tb"})))},
       "1>2... 2!..."},  // The shell has nothing else: it waits for it.
      {"beside a program",
       {sh, with_ampersand(minding(process(2, 1, {"tb"}))),
        minding(process(3, 1, {"python3", "t.py"}))},
       "1>3... 2! 3!..."},
      {"and what it has started",
       {sh, with_ampersand(minding(process(2, 1, {"sh", "-c", "x"}))), process(3, 1, {"sleep"}),
        with_ampersand(process(4, 2, {"sleep"}))},
       "1!... 2! 3!... 4!"},
      {"Python's resource tracker ends when its parent has",
       {process(1, 0, {"python3", "t.py"}), ignoring(process(2, 1, {"python3", "-c", "tracker"}))},
       "1!... 2!..."},
      {"two with &, and a wait",
       {bash, with_ampersand(saves), with_ampersand(minding(process(3, 1, {"python3", "u.py"})))},
       "1>2,3... 2!... 3!..."},
      {"a helper of a program that minds is that program's",
       {minding(process(1, 0, {"python3", "t.py"})), minding(process(2, 1, {"worker"})),
        process(3, 1, {"nvidia-smi"})},
       "1!... 2! 3>2"},
      {"a shell with a trap waits for its child, and is no word of its end",
       {minding(bash), process(2, 1, {"sleep", "9"})},
       "1!... 2!..."},
      {"which may mind", {minding(bash), saves}, "1!... 2!..."},
      {"a pipe below a trap",
       {minding(bash), saves, process(3, 1, {"tee", "log"})},
       "1!... 2!... 3>2..."},
      {"workers of a rank do not wait for other ranks",
       {process(1, 0, {"python3", "l.py"}), saves, process(3, 2, {"worker"}),
        minding(process(4, 1, {"python3", "t.py"}))},
       "1>2,4... 2!... 3! 4!..."},
      {"a launcher of the user's own is not told, its ranks are",
       {sh, minding(process(2, 1, {"mpirun", "-np", "2", "t"})), minding(process(3, 2, {"t"})),
        process(4, 2, {"t"})},
       "1>2,3... 2>3,4... 3!... 4>3..."},
      {"muster's operator is not told: its `train` is",
       {sh, of_muster(process(2, 1, {"sm", "mpirun", "t"}))},
       "1>2... 2..."},
      {"one that is a host's `train` itself tells what is below it",
       {sh, of_muster(minding(process(2, 1, {"sm", "mpirun", "t"}))),
        of_muster(process(3, 2, {"sm", "mpirun", "t"})), minding(process(4, 2, {"mpirun"})),
        minding(process(5, 4, {"t"}))},
       "1>2... 2!..."},
      {"a rank of its own",
       {process(1, 0, {"orted"}), of_muster(minding(process(2, 1, {"sm", "rank"})))},
       "1>2... 2..."},
      {"a launcher that has no ranks yet",
       {sh, minding(process(2, 1, {"torchrun", "t.py"}))},
       "1>2... 2!..."},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    // Parents come first.
    CHECK(story(c.given) == c.want);
  }
}

TEST_CASE("stop plan: launchers and shells are known by their command lines") {
  struct {
    Args argv;
    StopRole want;
  } const cases[] = {
      {{}, StopRole::user},
      {{"/opt/openmpi/bin/mpirun", "-np", "2"}, StopRole::launcher},
      {{"hydra_pmi_proxy", "--control-port"}, StopRole::launcher},
      {{"/venv/bin/python3", "/venv/bin/torchrun", "t.py"}, StopRole::launcher},
      {{"python3.11", "-u", "-m", "deepspeed.launcher.launch", "t.py"}, StopRole::launcher},
      {{"python", "-m", "torch.distributed.run"}, StopRole::launcher},
      {{"/bin/sh", "/usr/bin/mpirun"}, StopRole::launcher},
      {{"python3", "train.py", "torchrun"}, StopRole::user},
      {{"python3", "-c", "torchrun"}, StopRole::user},
      {{"python3", "-m"}, StopRole::user},
      {{"./torchrunner"}, StopRole::user},
      {{"-bash"}, StopRole::shell},
      {{"/bin/bash", "./train.sh"}, StopRole::shell},
  };
  for (const auto& c : cases) {
    CAPTURE(c.argv);
    CHECK(role_of(process(1, 0, c.argv)) == c.want);
  }
}
