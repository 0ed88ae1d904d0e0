#include "engine/slurm/submission.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/files/remove_tree.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::slurm {
namespace {

Submission demo() {
  return {.job = "demo-1",
          .nonce = "0123456789abcdef",
          .place = "00000000deadbeef",
          .word = "00112233445566778899aabbccddeeff",
          .nodes = 3,
          .run_time_max = std::chrono::seconds(3600)};
}

bool has(const Args& argv, const std::string& word) {
  return std::find(argv.begin(), argv.end(), word) != argv.end();
}

std::string refusal(const Submission& submission, const Site& site) {
  const Result<Command> command = plan_sbatch(submission, site, {});
  return command ? "" : command.error().text;
}

TEST_CASE("a job is submitted once, by a name that finds it again, without our environment") {
  const Result<Command> command = plan_sbatch(
      demo(), {}, {{"PATH", "/usr/bin"}, {"AWS_SECRET_ACCESS_KEY", "s"}, {"SLURM_CONF", "/c"}});
  REQUIRE(command);
  CHECK(command->env == Env{{"PATH", "/usr/bin"}, {"SLURM_CONF", "/c"}});
  CHECK(command->argv == Args{"sbatch", "--parsable", "--job-name=muster-demo-1-0123456789abcdef",
                              "--comment=muster:0123456789abcdef", "--nodes=3",
                              "--ntasks-per-node=1", "--time=85", "--no-requeue",
                              "--output=/dev/null", "--chdir=/"});
}

TEST_CASE("spares are additional nodes of a job that continues with one node less") {
  Submission submission = demo();
  CHECK(batch_script(submission, "/opt/sm").find("--no-kill") == std::string::npos);
  CHECK(batch_script(submission, "/opt/sm").find("sha256sum") == std::string::npos);
  CHECK(batch_script(submission, "/opt/sm", "sha256:ab").find(" = sha256:ab ]") !=
        std::string::npos);
  submission.spares = 2;
  const Result<Command> command = plan_sbatch(submission, {}, {});
  REQUIRE(command);
  CHECK(has(command->argv, "--nodes=5"));
  CHECK(has(command->argv, "--no-kill"));
  CHECK(batch_script(submission, "/opt/sm").find("--input=none --no-kill \\\n") !=
        std::string::npos);
}

TEST_CASE("a node's resources and a site's settings are in sbatch's own options") {
  Submission submission = demo();
  submission.memory_bytes = (std::int64_t{2} << 30) + 1;
  submission.cpu_millis = 1500;
  submission.gpus = 4;
  submission.excluded = {"node2", "node3"};
  const Site site{.partition = "gpu",
                  .account = "lab-7",
                  .qos = "normal",
                  .options = {"--constraint=a100&nvlink", "--exclusive"}};
  const Result<Command> command = plan_sbatch(submission, site, {});
  REQUIRE(command);
  for (const char* word :
       {"--mem=2049", "--cpus-per-task=2", "--gres=gpu:4", "--partition=gpu", "--account=lab-7",
        "--qos=normal", "--constraint=a100&nvlink", "--exclusive", "--exclude=node2,node3"})
    CHECK_MESSAGE(has(command->argv, word), word);
}

TEST_CASE(
    "values that Slurm does not know, and options that select the program, are refused by name") {
  const struct {
    Site site;
    const char* named;
  } cases[] = {
      {{.partition = "a b"}, "partition 'a b'"},
      {{.account = "--wrap=id"}, "account '--wrap=id'"},
      {{.qos = "x\n"}, "qos"},
      {{.options = {"--wrap=id"}}, "option --wrap"},
      {{.options = {"--output=/etc/passwd"}}, "option --output"},
      {{.options = {"--export=ALL"}}, "option --export"},
      {{.options = {"--uid=0"}}, "option --uid"},
      {{.options = {"-p"}}, "option -p"},
      {{.options = {"--constraint=a b"}}, "option --constraint"},
      {{.options = {"--gres=$(id)"}}, "option --gres"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.named);
    CHECK(refusal(demo(), each.site).find(each.named) != std::string::npos);
  }
  Submission submission = demo();
  submission.job = "a;b";
  CHECK(refusal(submission, {}).starts_with("job name 'a;b': expected"));
  submission = demo();
  submission.nonce = "0123";
  CHECK(refusal(submission, {}).starts_with("nonce '0123': expected"));
  submission = demo();
  submission.excluded = {"-x"};
  CHECK(refusal(submission, {}).starts_with("node '-x'"));
}

TEST_CASE("a name yields its job and nonce, and names of others yield nothing") {
  CHECK(own_name(slurm_name(demo())) == OwnName{"demo-1", "0123456789abcdef"});
  for (const char* name :
       {"", "muster-", "muster-demo", "muster-demo-0123", "train", "muster--0123456789abcdef",
        "muster-demo-0123456789abcdeg", "xmuster-demo-0123456789abcdef"})
    CHECK_MESSAGE(!own_name(name), name);
}

TEST_CASE("the time limit is whole minutes with room for the way there and back") {
  CHECK(limit_minutes(std::chrono::seconds(1)) == 26);
  CHECK(limit_minutes(std::chrono::seconds(60)) == 26);
  CHECK(limit_minutes(std::chrono::hours(24)) == 24 * 60 + 25);
}

TEST_CASE("the script waits for the delivered files, and reveals their names to no other user") {
  const std::string script = batch_script(demo(), "/opt/it's $(id)");
  CHECK(script.starts_with("#!/bin/bash\n"));
  CHECK(place_of(demo()) == "/tmp/muster-00000000deadbeef");
  CHECK(arrival_of(demo(), BroughtFile::go) == "/tmp/muster-00000000deadbeef.go");
  CHECK(final_path_of(demo(), BroughtFile::job) == "/tmp/muster-00000000deadbeef/job");
  CHECK(go_text(demo(), {BroughtFile::program, BroughtFile::job}) == demo().word + " sm job\n");
  CHECK(script.find("-lt 600 ]") != std::string::npos);
  CHECK(script.find("--kill-on-bad-exit=0 --wait=0") != std::string::npos);
  CHECK(script.find("\"comment=muster:0123456789abcdef|${line:0:400}|\"") != std::string::npos);
  CHECK(script.find(R"(muster '/opt/it'"'"'s $(id)')") != std::string::npos);
  // Command lines are for all users to read, so srun's has neither.
  const std::string step = script.substr(script.find("srun "));
  CHECK(step.find(demo().place) == std::string::npos);
  CHECK(step.find(demo().word) == std::string::npos);
}

/// A job of this process alone: tests of other processes have logs in /tmp at the same time.
const Submission& own_job() {
  static const Submission job = [] {
    Submission own = demo();
    own.nonce = hex(random_bytes(8));
    return own;
  }();
  return job;
}

/// A batch script whose commands are stand-ins.
class Script {
 public:
  Script() = default;
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  ~Script() {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
    CHECK(remove_tree(folder_));
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void program(const std::string& name, const std::string& does) const {
    REQUIRE(write_file(path(name), "#!/bin/sh\n" + does + "\n", 0755));
  }
  void start(const std::string& text) {
    REQUIRE(write_file(path("script"), text));
    const std::string path_variable = "PATH=" + folder_ + ":/usr/bin:/bin", script = path("script");
    const char* const argv[] = {"bash", script.c_str(), nullptr};
    const char* const env[] = {path_variable.c_str(), "SLURM_JOB_ID=7", nullptr};
    pid_ = ::fork();
    if (pid_ == 0) {
      ::setsid();
      ::execve("/bin/bash", const_cast<char**>(argv), const_cast<char**>(env));
      ::_exit(127);
    }
  }
  /// The script's status, as waitpid gives it.
  int wait() {
    int status = -1;
    until([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
    pid_ = -1;
    return status;
  }
  static void until(const std::function<bool()>& is_so) {
    const TimePoint deadline = Clock::now() + std::chrono::seconds(60);
    while (!is_so()) {
      REQUIRE(Clock::now() < deadline);
      ::sched_yield();
    }
  }

 private:
  std::string folder_ = *make_private_folder("/tmp", "muster-script-");
  pid_t pid_ = -1;
};

/// The arguments with which the script calls scontrol and scancel. Their stand-ins return this exit
/// code, and the script's step prints these lines.
std::string told_by_script(const std::string& lines, int exit_code) {
  Script script;
  REQUIRE(write_file(script.path("lines"), lines));
  script.program("srun", "cat " + script.path("lines"));
  for (const char* name : {"scontrol", "scancel"})
    script.program(name, "echo " + std::string(name) + " \"$@\" >>" + script.path("told") +
                             "\nexit " + std::to_string(exit_code));
  script.start(batch_script(own_job(), "/opt/sm"));
  CHECK(script.wait() == 0);
  return read_file(script.path("told")).value_or("");
}

/// Logs of own_job() in /tmp, which are removed.
std::vector<std::string> take_logs() {
  std::vector<std::string> texts;
  const std::vector<std::string> names = *names_in("/tmp");
  for (const std::string& name : names) {
    if (!name.starts_with("muster-" + own_job().nonce) || !name.ends_with(".log")) continue;
    texts.push_back(read_file("/tmp/" + name).value_or(""));
    ::unlink(("/tmp/" + name).c_str());
  }
  return texts;
}

TEST_CASE(
    "the script: a node that cannot start its part is reported, whatever was printed before") {
  using Texts = std::vector<std::string>;
  const std::string failed =
      "srun: error: Task launch for StepId=1.0 failed on node node2: Zero Bytes $(id) \"\n";
  const std::string comment =
      "scontrol update jobid=7 comment=muster:" + own_job().nonce + "|node2: Zero Bytes ??id? ?|\n";
  CHECK(told_by_script("srun: a word\nslurmstepd: another\n", 0).empty());
  CHECK(take_logs().empty());
  CHECK(told_by_script("of a task prolog\n" + failed + "last\n", 0) == comment + "scancel 7\n");
  CHECK(take_logs() == Texts{"of a task prolog\nlast\n"});
  CHECK(told_by_script(failed, 1) == comment);  // Slurm did not take it.
}

TEST_CASE("the script: a named pipe of somebody's in the log's place holds up nothing") {
  const std::string pipe = "/tmp/muster-" + own_job().nonce + ".log";
  REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  CHECK(told_by_script("of a task prolog\n", 0).empty());
  ::unlink(pipe.c_str());
  CHECK(take_logs() == std::vector<std::string>{"of a task prolog\n"});
}

TEST_CASE("the script: a go file that is there before its text is read when the text has come") {
  Submission submission = demo();
  submission.place = hex(random_bytes(8));
  Script script;
  script.program("srun", "while [ \"${1#--}\" != \"$1\" ]; do shift; done; exec \"$@\"");
  script.program("program", "echo \"$@\" >" + script.path("told"));
  script.start(batch_script(submission, script.path("program")));
  const std::string arrival = arrival_of(submission, BroughtFile::go);
  Script::until([&] { return ::access(place_of(submission).c_str(), F_OK) == 0; });
  const Fd go(::open(arrival.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(go);
  Script::until([&] { return ::access(arrival.c_str(), F_OK) != 0; });
  REQUIRE(write_all(go.get(), go_text(submission, {})));
  CHECK(script.wait() == 0);
  CHECK(read_file(script.path("told")).value_or("") ==
        "node --job " + final_path_of(submission, BroughtFile::job) + "\n");
  CHECK(remove_tree(place_of(submission)));
}

}  // namespace
}  // namespace muster::slurm
