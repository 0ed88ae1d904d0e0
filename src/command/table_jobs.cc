#include "command/job_flags.h"

namespace muster::command {
namespace {

const Operand job{"JOB", "name of the job; sm jobs lists them"};
const Flag api_json{"--json", "", "print one JSON object, in the API's format"};
constexpr std::string_view endpoint_note =
    "AWS_ENDPOINT_URL is the server's URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are one of "
    "its keys. `sm key create` prints all three as shell commands.";

constexpr std::string_view own_note =
    "Jobs that sm fit runs on this machine need no server. They belong to the user who runs sm "
    "fit: root, with sudo. If a server also has a job with that name, this machine's job is used.";

std::vector<Exit> exits_of(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"2", wrong},
          {"3", "the server does not respond or has an internal error"},
          {"128 + N", "the command was ended by signal N; jobs keep running"}};
}

/// Commands that can follow a job to its end.
std::vector<Exit> exits_of_followed(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"1", "when following a job: it failed or was stopped"},
          {"2", wrong},
          {"3", "the server does not respond or has an internal error"},
          {"4", "when following a job: it exceeded its time limit"},
          {"128 + N", "the command was ended by signal N; jobs keep running"}};
}

std::vector<Flag> submit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code, or s3://…/sourcedir.tar.gz (default: only the script)"},
       {"--image", "NAME",
        "image for the hosts (default: host, the server's programs); without SCRIPT, its program "
        "runs"},
       {"--instance-type", "TYPE", "instance type of each host (default: local)"},
       {"--volume-size", "GIB", "disk limit of each host (default 30)"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "an input channel: s3://… or a folder, which gets uploaded",
        .many = true,
        .letter = "-i"},
       hyperparameter_flag,
       text_hyperparameter_flag,
       hyperparameters_flag,
       env_flag,
       env_file_flag,
       {"--metric", "NAME=REGEX", metric_help, "", true},
       {.name = "--output",
        .value = "S3URL",
        .help = "where to store the model (default: the default bucket)",
        .letter = "-o"},
       {"--checkpoints", "DIR",
        "checkpoints: s3://…, or a folder whose files are uploaded first; new checkpoints stay in "
        "S3"},
       {"--name", "NAME", "job name (default: the script's name and the time)"},
       {"--tag", "KEY=VALUE", "tag the job, to find it with sm jobs --tag", "", true},
       {"--timeout", "TIME", "stop the job after this time: 90 (seconds), 10m, 2h (default 1d)"},
       {"--priority", "N", "0 to 9: higher-priority jobs start first (default 0)"},
       {"--network", "MODE",
        "outside network: none (only other hosts and S3), or nat (the server's; default if the "
        "server allows it)"},
       {"--encrypt", "",
        "accepted on one machine, where traffic between hosts stays inside the kernel, not "
        "encrypted; rejected on a cluster"},
       {"--json-file", "FILE",
        "the job as input of CreateTrainingJob; only --name can be combined with it"},
       {"--wait", "", "follow the job to its end"},
       {"--raw", "", raw_help},
       utc_flag,
       {"--json", "", "print one JSON object; with --wait, one for each log line"},
       print_file_flag});
}

Page submit() {
  return {
      .name = "submit",
      .group = Group::server,
      .brief = "submit a training job to a server",
      .about = "Submits a training job to the server at AWS_ENDPOINT_URL.",
      .operands = {{"SCRIPT", "the training program, a path in the source folder; or a job file",
                    false, "FILE"}},
      .flags = submit_flags(),
      .examples = {{"sm submit train.py --wait",
                    "run train.py on one host of the server and follow the job"},
                   {"sm submit train.py --name mnist-1 --source-dir code --hosts 3 \\\n"
                    "    --processes-per-host 2 --input train=data/train \\\n"
                    "    --input test=s3://bucket/test --hyperparameter epochs=2",
                    "upload code and data/train; run 6 MPI processes on 3 hosts"},
                   {"sm submit --image registry.example.com/team/box:v1 --wait",
                    "run the image's own program; the server's config lists the allowed images"},
                   {"sm submit --json-file job.json",
                    "the file contains the input of CreateTrainingJob, as for the AWS CLI"}},
      .notes = {"Prints the job's name. Uploads go to the bucket sagemaker-REGION-ACCOUNT, as with "
                "the SageMaker SDK. Ctrl-C does not stop a submitted job.",
                job_file_note, lines_note, endpoint_note},
      .exits = exits_of_followed("submitted; with --wait: the job completed",
                                 "invalid flag, file or key, or the server rejected the request"),
  };
}

Page jobs() {
  return {
      .name = "jobs",
      .group = Group::server,
      .brief = "list training jobs of this machine and of a server",
      .about =
          "Lists training jobs, newest first: the jobs of sm fit on this machine, marked local, "
          "and the jobs of the server at AWS_ENDPOINT_URL, if it is set.",
      .flags = {{"--status", "STATUS",
                 "only jobs that are InProgress, Completed, Failed, Stopping or Stopped", "", false,
                 "InProgress Completed Failed Stopping Stopped"},
                {"--name", "TEXT", "only jobs whose name contains this text"},
                {"--instance-type", "TEXT", "only jobs whose instance type contains this text"},
                {"--tag", "KEY[=VALUE]", "only jobs of the server with this tag"},
                {"--limit", "N", "list at most N jobs (default 20)"},
                utc_flag,
                api_json},
      .examples = {{"sm jobs"},
                   {"sm jobs --status Failed --limit 5"},
                   {"sm jobs --tag team=vision --instance-type ml.p4d"},
                   {"sm jobs --name mnist --json",
                    "jobs of this machine have \"MusterPlace\": \"local\""}},
      .notes = {own_note, "Includes the last 100 finished jobs of this machine.", endpoint_note},
      .exits = exits_of("success", "invalid flag or key"),
  };
}

Page describe() {
  return {
      .name = "describe",
      .group = Group::server,
      .brief = "show the details of a job of this machine or of a server",
      .about =
          "Shows the details of a job of sm fit on this machine, or of a job on the server at "
          "AWS_ENDPOINT_URL: its state, or how it ended and why.",
      .operands = {job},
      .flags = {utc_flag, api_json},
      .examples = {{"sm describe mnist-2026-01-31-12-00-00-1a2b"}, {"sm describe --json JOB"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page logs() {
  return {
      .name = "logs",
      .group = Group::server,
      .brief = "print or follow the log of a job of this machine or of a server",
      .about =
          "Prints the lines of all hosts and the job's status changes, in order of time. The job "
          "is one of sm fit on this machine, or one on the server at AWS_ENDPOINT_URL.",
      .operands = {job},
      .flags = {{.name = "--follow",
                 .help = "keep printing new lines until the job ends",
                 .letter = "-f"},
                {"--tail", "N", "only the last N lines; with -f, also all new lines"},
                {"--host", "HOST", "only lines of this host: algo-1, algo-2, …"},
                {"--rank", "N", "only lines of this rank, counted from 0"},
                {"--since", "TIME",
                 "only lines since this time: 30s, 10m, 2h or 1d ago, or a local time: "
                 "\"2026-01-31 12:00:00\""},
                {"--raw", "", raw_help},
                utc_flag,
                {"--json", "", "print one JSON object per line instead of text"}},
      .examples = {{"sm logs JOB"},
                   {"sm logs -f JOB", "follow the job to its end; Ctrl-C does not stop the job"},
                   {"sm logs --tail 20 --host algo-2 JOB"},
                   {"sm logs --rank 3 --since 10m JOB"}},
      .notes = {lines_note, own_note, endpoint_note},
      .exits =
          exits_of_followed("printed; with -f: the job completed", "job not found or invalid key"),
  };
}

Page timeline() {
  return {
      .name = "timeline",
      .group = Group::server,
      .brief = "show how long each phase of a job took on each host",
      .about =
          "Shows the phases of each host of a job, from submission to results: waiting, file "
          "system, inputs, container, roll call, code, packages, launcher, and its first line of "
          "output. The phases have no gaps: they add up to the total.",
      .operands = {job},
      .flags = {{"--host", "HOST", "only this host: algo-1, algo-2, …"},
                {"--compare", "OTHER",
                 "show how much longer or shorter each phase took than in job OTHER"},
                {"--json", "", "print one JSON object: points in milliseconds since 1970"}},
      .examples = {{"sm timeline JOB"},
                   {"sm timeline JOB --host algo-2"},
                   {"sm timeline JOB --compare OTHER"},
                   {"sm timeline JOB --json"}},
      .notes = {"With more than four hosts, it shows the minimum, median and maximum of each "
                "phase, and the host whose first line came last. While a job is running, it shows "
                "the phases so far.",
                "--compare uses the host of each job whose first line came last.", own_note,
                endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page stacks() {
  return {
      .name = "stacks",
      .group = Group::server,
      .brief = "show the stack of every rank of a running job",
      .about =
          "Shows the stacks of all ranks on all hosts as one tree: ranks at the same place share a "
          "line, and outliers are marked. Stacks are read from outside the containers. Use it for "
          "a job that seems to hang. Programs other than Python show their C and C++ calls.",
      .operands = {job},
      .flags = {{"--host", "HOST", "only this host: algo-1, algo-2, …"},
                {"--native", "", "also show C and C++ calls below Python's"},
                {"--json", "", "print one JSON object: every process, thread and call"}},
      .examples = {{"sm stacks JOB"},
                   {"sm stacks JOB --native", "also show C and C++ calls"},
                   {"sm stacks JOB --json"}},
      .notes = {"py-spy reads the Python calls. Install it in the job's Python environment: pip "
                "install py-spy. For jobs with --image, it must be on PATH of the host's machine.",
                "To read native calls, a running thread is stopped for a moment while its stack is "
                "copied. Nothing else is stopped.",
                own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page trace() {
  return {
      .name = "trace",
      .group = Group::server,
      .brief = "write a job's timeline to a file for ui.perfetto.dev or chrome://tracing",
      .about =
          "Writes the phases of a job's hosts in Chrome's trace format, which Perfetto can open, "
          "and prints the file's name.",
      .operands = {job},
      .flags = {{.name = "--output",
                 .value = "FILE",
                 .help = "output file (default JOB.trace.json); - for standard output",
                 .letter = "-o"}},
      .examples = {{"sm trace JOB"}, {"sm trace JOB -o - | gzip >trace.json.gz"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page wait() {
  std::vector<Exit> exits =
      exits_of_followed("all jobs completed; with --any: all jobs that ended so far completed",
                        "job not found or invalid key");
  exits[1] = {"1", "the first listed job that did not complete failed or was stopped"};
  exits[4] = {"4", "that job exceeded its time limit"};
  exits.insert(exits.begin() + 5, {"124", "--timeout expired first"});
  return {
      .name = "wait",
      .group = Group::server,
      .brief = "wait until jobs of this machine or of a server end",
      .about =
          "Waits until all the named jobs have ended, and prints a line for each job when it ends. "
          "A job is one of sm fit on this machine, or one on the server at AWS_ENDPOINT_URL.",
      .operands = {{"JOB", "names of the jobs; sm jobs lists them", true, "", "", true}},
      .flags =
          {{"--any", "", "return as soon as one of the jobs has ended"},
           {"--timeout", "TIME",
            "wait at most this time: 90 (seconds), 10m, 2h; 0 checks once (default: no limit)"},
           {"--json", "", "print one JSON object for each ended job"}},
      .examples = {{"sm wait JOB && sm submit next.py", "start the next job if this one completed"},
                   {"sm wait run-1 run-2 run-3", "all three"},
                   {"sm wait --any --timeout 1h run-1 run-2"}},
      .notes = {own_note, endpoint_note},
      .exits = std::move(exits),
  };
}

Page rerun() {
  return {
      .name = "rerun",
      .group = Group::server,
      .brief = "run a job of this machine or of a server again",
      .about =
          "Runs a job again under a new name, with the same settings but for the flags below. The "
          "job is one of sm fit on this machine, or one on the server at AWS_ENDPOINT_URL.",
      .operands = {job},
      .flags = {hyperparameter_flag,
                env_flag,
                env_file_flag,
                {"--name", "NAME", "name of the new job (default: the old name and the time)"},
                {"--resume", "",
                 "continue from the job's checkpoints, in the same place (default: a new, empty "
                 "place)"}},
      .examples = {{"sm rerun JOB"},
                   {"sm rerun JOB -p epochs=5 --name run-8", "with another number of epochs"},
                   {"sm rerun JOB --resume", "continue from its last checkpoint"}},
      .notes = {"On this machine, sm rerun runs sm fit with the same flags; only a job that was "
                "run with --detach runs in the background again. The code is the source folder in "
                "its current state: a file that is newer than the old job is named. The record of "
                "a job has no values of variables, so pass them again with --env or --env-file.",
                "On a server, the new job reads the same code and data in S3. If something is "
                "missing there, nothing is started; an object that is newer than the old job is "
                "named.",
                "Results go to a new place.", own_note, endpoint_note},
      .exits = {{"0", "submitted; on this machine: the job completed, or runs in the background"},
                {"1", "on this machine: the job failed"},
                {"2", "job not found, invalid flag, or something that it needs is missing"},
                {"3", "the server does not respond, or this machine lacks something"},
                {"4", "on this machine: the job exceeded its time limit"},
                {"128 + N", "the command was ended by signal N; a server's jobs keep running"}},
  };
}

Page stop() {
  return {
      .name = "stop",
      .group = Group::server,
      .brief = "stop a job of this machine or of a server",
      .about =
          "Stops a job of sm fit on this machine, or a job on the server at AWS_ENDPOINT_URL. Its "
          "processes get SIGTERM and have two minutes to exit (with sm fit: --grace, 30 s by "
          "default). Files they have written by then are kept. --now kills them at once, and so "
          "does a second sm stop of a job of sm fit.",
      .operands = {job},
      .flags = {{"--now", "", "kill the job's processes now, without the time to exit"},
                {"--wait", "", "wait until the job has ended"},
                {"--json", "", "print one JSON object: the job's name and its status"}},
      .examples = {{"sm stop JOB"},
                   {"sm stop JOB --wait", "wait until the job has ended"},
                   {"sm stop JOB --now", "for a job that does not exit on SIGTERM"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("the stop was requested; with --wait: the job has ended, with any result",
                        "job not found or already ended, or invalid key"),
  };
}

Page download() {
  return {
      .name = "download",
      .group = Group::server,
      .brief = "download a job's model, output and log",
      .about =
          "Downloads the results of a job from the server at AWS_ENDPOINT_URL. Its model "
          "(/opt/ml/model of its hosts) goes to DIR/model and its output (/opt/ml/output/data) to "
          "DIR/output, both unpacked. Its log goes to DIR/log: all.log, and a file for each host.",
      .operands = {job,
                   {"DIR", "target folder (default: a folder named after the job)", false, "DIR"}},
      .flags = {{"--model", "", "only the model, plus other parts that have a flag"},
                {"--output", "", "only the output, plus other parts that have a flag"},
                {"--logs", "", "only the log, plus other parts that have a flag"},
                {"--json", "", "print one JSON object with the path of each part"}},
      .examples = {{"sm download JOB"}, {"sm download JOB results --model"}},
      .notes = {"Existing files are not overwritten. A part appears under its name once it is "
                "complete. Without a flag, all three parts are downloaded; \"none\" marks a "
                "missing part.",
                endpoint_note},
      .exits = exits_of(
          "everything available was downloaded",
          "job not found, a requested part is missing, the folder is in use, or invalid key"),
  };
}

Page ui() {
  return {
      .name = "ui",
      .group = Group::server,
      .brief = "open the web page of a server in a browser",
      .about =
          "Prints a link to the web page of the server at AWS_ENDPOINT_URL, and opens it in your "
          "browser if run in a terminal on a desktop. The link works once, within a minute; the "
          "browser then stays logged in for 12 hours.",
      .flags = {{"--no-browser", "", "print the link without opening a browser"},
                {"--url", "", "print only the link"}},
      .examples = {{"sm ui"}, {"firefox \"$(sm ui --url)\"", "open the page at once"}},
      .notes = {"The link has the same rights as the key until it is used or a minute old. Keep it "
                "secret.",
                endpoint_note},
      .exits = {{"0", "the link was printed"},
                {"2", "invalid key, or the server has no web page"},
                {"3", "the server does not respond or has an internal error"},
                {"128 + N", "the command was ended by signal N"}},
  };
}

Page delete_page() {
  return {
      .name = "delete",
      .group = Group::server,
      .brief = "delete a finished job of this machine or of a server, with its log",
      .about =
          "Deletes a finished job of sm fit on this machine, or of the server at AWS_ENDPOINT_URL: "
          "its description, metrics and log. Its output folder, or its output in S3, is kept, "
          "including the model; the command prints where it is.",
      .operands = {job},
      .flags = {{"--json", "", "print one JSON object: the job's name and its status"}},
      .examples = {{"sm delete JOB"},
                   {"sm stop --wait JOB && sm delete JOB", "for a job that is still running"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("deleted", "job not found or still running"),
  };
}

}  // namespace

std::vector<Page> pages_jobs() {
  return {submit(), jobs(),  describe(), logs(),     timeline(), trace(),      stacks(),
          wait(),   rerun(), stop(),     download(), ui(),       delete_page()};
}

}  // namespace muster::command
