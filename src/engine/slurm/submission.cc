#include "engine/slurm/submission.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::slurm {
namespace {

constexpr std::string_view name_prefix = "muster-";
/// To stop a job (its grace, at most 5 minutes) and to bring its results back.
constexpr std::chrono::minutes end_margin{15};
constexpr std::size_t value_bytes_max = 256;
constexpr std::size_t job_name_max = 63;
constexpr std::string_view letters_and_digits =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Options of a site's that change where and when a job runs, not what runs, as whom, or where its
/// output goes.
constexpr std::array<std::string_view, 15> allowed_options = {
    "--begin",     "--constraint",  "--contiguous", "--core-spec", "--exclude",
    "--exclusive", "--gres",        "--hint",       "--licenses",  "--nice",
    "--nodelist",  "--reservation", "--switches",   "--tmp",       "--wckey"};

/// Not `--export=NONE`: with that Slurm asks a login shell for an environment, for 1.3 s where that
/// was tried, up to 2 minutes where a home folder hangs.
constexpr std::array kept_variables = {"PATH", "HOME", "USER", "LOGNAME", "SLURM_CONF"};

bool holds_only(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return letters_and_digits.find(c) != std::string_view::npos ||
           others.find(c) != std::string_view::npos;
  });
}

Result<void> check_word(const std::string& what, const std::string& value) {
  if (!value.empty() && value.size() <= value_bytes_max && value.front() != '-' &&
      holds_only(value, "_.-"))
    return {};
  return fail(Errc::invalid_input,
              what + " '" + value + "': expected letters, digits, '-', '.' and '_'");
}

/// A value may have what Slurm's own syntax has: lists, ranges, counts, conditions.
Result<void> check_option(const std::string& option) {
  const std::size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  if (std::find(allowed_options.begin(), allowed_options.end(), name) == allowed_options.end())
    return fail(Errc::invalid_input,
                "option " + name + ": not allowed; muster supports " +
                    join({allowed_options.begin(), allowed_options.end()}, ", "));
  const std::string value = equals == std::string::npos ? "" : option.substr(equals + 1);
  if (value.size() <= value_bytes_max && holds_only(value, "_.-+:,/[]()&|*@=%")) return {};
  return fail(Errc::invalid_input,
              "option " + name + ": its value contains a character that Slurm does not allow");
}

Result<void> check(const Submission& submission) {
  if (submission.job.empty() || submission.job.size() > job_name_max ||
      !holds_only(submission.job, "-"))
    return fail(Errc::invalid_input,
                "job name '" + submission.job + "': expected 1 to 63 letters, digits and '-'");
  if (submission.nonce.size() != nonce_digits || !from_hex(submission.nonce))
    return fail(Errc::invalid_input, "nonce '" + submission.nonce + "': expected 16 hex digits");
  for (const std::string& node : submission.excluded) TRY(check_word("node", node));
  return {};
}

std::string comment_of(const Submission& submission) {
  return "muster:" + submission.nonce;
}

std::int64_t rounded_up(std::int64_t number, std::int64_t unit) {
  return (number + unit - 1) / unit;
}

}  // namespace

std::optional<Hosts> hosts_from(std::string_view name) {
  if (name == "light") return Hosts::light;
  if (name == "container") return Hosts::container;
  if (name == "apptainer") return Hosts::apptainer;
  if (name == "enroot") return Hosts::enroot;
  return std::nullopt;
}

std::string image_tool(Hosts hosts) {
  if (hosts == Hosts::apptainer) return "apptainer";
  return hosts == Hosts::enroot ? "enroot" : "";
}

Result<void> check(const Site& site) {
  for (const auto& [what, value] :
       {std::pair<const char*, const std::string&>{"partition", site.partition},
        {"account", site.account},
        {"qos", site.qos}})
    if (!value.empty()) TRY(check_word(what, value));
  for (const std::string& option : site.options) TRY(check_option(option));
  return {};
}

Args words_of(const Site& site) {
  Args words;
  for (const auto& [flag, value] :
       {std::pair<const char*, const std::string&>{"--partition=", site.partition},
        {"--account=", site.account},
        {"--qos=", site.qos}})
    if (!value.empty()) words.push_back(flag + value);
  words.insert(words.end(), site.options.begin(), site.options.end());
  return words;
}

std::string slurm_name(const Submission& submission) {
  return std::string(name_prefix) + submission.job + "-" + submission.nonce;
}

std::optional<OwnName> own_name(std::string_view slurm_name) {
  if (!slurm_name.starts_with(name_prefix)) return std::nullopt;
  slurm_name.remove_prefix(name_prefix.size());
  const std::size_t dash = slurm_name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view nonce = slurm_name.substr(dash + 1);
  if (nonce.size() != nonce_digits || !from_hex(nonce)) return std::nullopt;
  return OwnName{std::string(slurm_name.substr(0, dash)), std::string(nonce)};
}

std::int64_t limit_minutes(std::chrono::seconds run_time_max) {
  const std::chrono::seconds all = run_time_max + bring_max + end_margin;
  return rounded_up(all.count(), 60);
}

Result<Command> plan_sbatch(const Submission& submission, const Site& site, const Env& env) {
  TRY(check(submission));
  TRY(check(site));
  const auto given = [](const char* flag, std::int64_t value) {
    return flag + std::to_string(value);
  };
  Args argv = {"sbatch",
               "--parsable",
               "--job-name=" + slurm_name(submission),
               "--comment=" + comment_of(submission),
               given("--nodes=", submission.nodes + submission.spares),
               "--ntasks-per-node=1",
               given("--time=", limit_minutes(submission.run_time_max)),
               "--no-requeue",  // An attempt of ours is another submission.
               "--output=/dev/null",
               "--chdir=/"};
  if (submission.spares > 0) argv.emplace_back("--no-kill");
  if (submission.memory_bytes > 0)
    argv.push_back(given("--mem=", rounded_up(submission.memory_bytes, 1 << 20)));
  if (submission.cpu_millis > 0)
    argv.push_back(given("--cpus-per-task=", rounded_up(submission.cpu_millis, 1000)));
  if (submission.gpus > 0) argv.push_back(given("--gres=gpu:", submission.gpus));
  for (std::string& word : words_of(site)) argv.push_back(std::move(word));
  if (!submission.excluded.empty()) argv.push_back("--exclude=" + join(submission.excluded, ","));
  Command command{.argv = std::move(argv), .env = {}, .cwd = "/"};
  for (const char* name : kept_variables)
    if (const Env::const_iterator found = env.find(name); found != env.end())
      command.env.insert(*found);
  return command;
}

namespace {

constexpr std::size_t word_digits = 32;

const char* name_of(BroughtFile file) {
  switch (file) {
    case BroughtFile::program:
      return "sm";
    case BroughtFile::job:
      return "job";
    case BroughtFile::archive:
      return "tar";
    case BroughtFile::go:
      return "go";
  }
  return "";
}

/// Before a program is run that came by a file system, not by sbcast.
std::string check_of_program(const std::string& digest) {
  if (digest.empty()) return {};
  return "sum=$(sha256sum <\"$program\") || fail \"sha256sum cannot read it: $program\"\n"
         "[ \"sha256:${sum%% *}\" = " +
         digest + " ] || fail \"it has another digest: $program\"\n";
}

/// Only this script's user can write to $place. Files arrive in /tmp, where any user of the node
/// can create names and links. So each file is moved into $place first, and checked there. The
/// sequence is safe whatever /proc/sys/fs/protected_* says. Only processes that could read the go
/// file know its word, which excludes other users of the node. So when it is there, sbcast has
/// created each of the other files, on this node too, and found no name taken. The go file may be
/// moved before sbcast has written its line, and is read until the line is there.
constexpr const char* taking_functions =
    "leave() {\n"
    "  [ -z \"$made\" ] || rm -rf \"$place\"\n"
    "  rm -f \"$place\".{sm,job,tar,go}\n"
    "  exit 1\n"
    "}\n"
    "fail() {\n"
    "  echo \"the program failed on node $SLURMD_NODENAME: $1\"\n"
    "  leave\n"
    "}\n"
    "is_own_file() {\n"
    "  [ -f \"$1\" ] && [ ! -L \"$1\" ] && [ -O \"$1\" ]\n"
    "}\n"
    "take() {\n"
    "  mv -fT \"$place.$1\" \"$place/$1\" 2>/dev/null && is_own_file \"$place/$1\"\n"
    "}\n"
    "may_go() {\n"
    "  is_own_file \"$place.go\" && take go\n"
    "  is_own_file \"$place/go\" && read -r -n 200 given brought <\"$place/go\" &&\n"
    "    [ \"$given\" = \"$word\" ]\n"
    "}\n";

/// Each node's program; $1 is its path there; empty: it is delivered. A step that is cancelled
/// before all files have arrived leaves nothing. The names are in the environment, because a
/// command line is visible to all users of the node. If a program cannot be executed, bash's reason
/// is repeated in srun's own words for a step that cannot be started.
std::string waiting_script(const std::string& digest) {
  const std::string seconds =
      std::to_string(std::chrono::duration_cast<std::chrono::seconds>(bring_max).count());
  return "exec 2>&1\n"
         "umask 077\n"
         "place=$MUSTER_PLACE word=$MUSTER_WORD program=${1:-$MUSTER_PLACE/sm} made=\n"
         "unset MUSTER_PLACE MUSTER_WORD\n"
         "shopt -s execfail\n" +
         std::string(taking_functions) +
         "trap leave TERM\n"
         "why=$(mkdir -m 700 \"$place\" 2>&1) || fail \"${why##*: }: $place\"\n"
         "made=1\n"
         "until may_go; do\n"
         "  [ \"$SECONDS\" -lt " +
         seconds +
         " ] || leave\n"
         "  if [ \"$SECONDS\" -lt 10 ]; then sleep 0.05; else sleep 0.5; fi\n"
         "done\n"
         "for name in $brought; do\n"
         "  take \"$name\" || fail \"not a regular file of this user: $place.$name\"\n"
         "done\n"
         "rm -f \"$place/go\"\n" +
         check_of_program(digest) +
         "exec \"$program\" node --job \"$place/job\"\n"
         "why=$(\"$program\" 2>&1)\n"
         "fail \"${why##*: }: $program\"\n";
}

/// The use of the step's lines. A node that cannot start its part ends the job, and is named in the
/// job's comment, where start_failure() finds it. Stewards' own lines, if any, are kept without
/// Slurm's and bash's words, in a file with a fresh name (existing files of others in /tmp are
/// never opened; a named pipe would block). The file is created only if needed, because there may
/// be no process left to remove it. If Slurm refuses the comment, the engine handles the job, and
/// sees a job that was cancelled without a reason as stopped.
std::string reader(const Submission& submission) {
  return "  trap '' TERM\n"
         "  log=\n"
         "  while IFS= read -r line; do\n"
         "    case $line in\n"
         "    *' failed on node '*)\n"
         "      line=${line#* failed on node }\n"
         "      line=${line//[^A-Za-z0-9 .,:_\\/-]/?}\n"
         "      scontrol update \"jobid=$SLURM_JOB_ID\" \"comment=" +
         comment_of(submission) +
         "|${line:0:400}|\" &&\n"
         "        scancel \"$SLURM_JOB_ID\" ;;\n"
         "    srun:* | slurmstepd* | 'muster: line '*) ;;\n"
         "    *)\n"
         "      if [ -z \"$log\" ]; then\n"
         "        log=$(mktemp --suffix=.log /tmp/muster-" +
         submission.nonce +
         "-XXXXXXXX) || log=/dev/null\n"
         "        exec 3>\"$log\"\n"
         "      fi\n"
         "      printf '%s\\n' \"$line\" >&3 ;;\n"
         "    esac\n"
         "  done\n";
}

}  // namespace

std::string place_of(const Submission& submission) {
  return "/tmp/muster-" + submission.place;
}

std::string arrival_of(const Submission& submission, BroughtFile file) {
  return place_of(submission) + "." + name_of(file);
}

std::string final_path_of(const Submission& submission, BroughtFile file) {
  return place_of(submission) + "/" + name_of(file);
}

std::string go_text(const Submission& submission, const BroughtFiles& brought) {
  std::string text = submission.word;
  for (const BroughtFile file : brought) text += std::string(" ") + name_of(file);
  return text + "\n";
}

std::string batch_script(const Submission& submission, const std::string& program,
                         const std::string& digest) {
  CHECK_THAT(submission.place.size() == nonce_digits && from_hex(submission.place),
             "a place is 16 hex digits");
  CHECK_THAT(submission.word.size() == word_digits && from_hex(submission.word),
             "a word is 32 hex digits");
  const Args step = {"/bin/bash", "-c", waiting_script(digest), "muster", program};
  return "#!/bin/bash\n"
         "# A training job of muster's.\n"
         "umask 077\n"
         "trap : TERM\n"  // The step has it too, and ends.
         "export MUSTER_PLACE=" +
         place_of(submission) + " MUSTER_WORD=" + submission.word +
         "\n"
         "srun --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --input=none" +
         std::string(submission.spares > 0 ? " --no-kill" : "") +
         " \\\n"
         "  " +
         shell_quoted(step) + " 2>&1 | {\n" + reader(submission) +
         "} >/dev/null 2>&1\n"
         "exit 0\n";
}

}  // namespace muster::slurm
