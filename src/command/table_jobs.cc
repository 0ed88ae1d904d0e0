#include "command/job_flags.h"

namespace muster::command {
namespace {

const Operand job{"JOB", "job name, as shown by sm jobs"};
const Flag api_json{"--json", "", "print one JSON object in the format of the SageMaker API"};
constexpr std::string_view endpoint_note =
    "To use a server, set AWS_ENDPOINT_URL to its URL, and set AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY to one of its keys. sm key create prints all three as shell commands.";

constexpr std::string_view own_note =
    "Jobs that sm fit runs on this machine don't need a server. They belong to the user who ran sm "
    "fit, or to root if sm fit ran with sudo. If a job on this machine and a job on the server "
    "have the same name, the command uses the job on this machine.";

std::vector<Exit> exits_of(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"2", wrong},
          {"3", "the server did not respond or had an internal error"},
          {"128 + N", "signal N ended the command; jobs keep running"}};
}

/// Commands that can follow a job to its end.
std::vector<Exit> exits_of_followed(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"1", "when following a job: the job failed or was stopped"},
          {"2", wrong},
          {"3", "the server did not respond or had an internal error"},
          {"4", "when following a job: the job exceeded its time limit"},
          {"128 + N", "signal N ended the command; jobs keep running"}};
}

std::vector<Flag> submit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code, or s3://…/sourcedir.tar.gz (default: only the script)"},
       {"--image", "NAME",
        "container image (default: host, i.e. the server's own programs); without SCRIPT, the "
        "image's own program runs"},
       {"--instance-type", "TYPE", "instance type of every host (default: local)"},
       {"--volume-size", "GIB", "disk limit per host in GiB (default: 30)"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "input channel NAME: s3://…, or a folder, which is uploaded first",
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
        .help = "S3 location for the model (default: in the default bucket)",
        .letter = "-o"},
       {"--checkpoints", "DIR",
        "checkpoints: s3://…, or a folder to upload to S3 first; new checkpoints are stored in S3 "
        "only"},
       {"--name", "NAME", "job name (default: the script's name and the time)"},
       {"--tag", "KEY=VALUE", "tag the job, e.g. to find it with sm jobs --tag", "", true},
       {"--timeout", "TIME", "stop the job after TIME: 90 (seconds), 10m, 2h (default: 1d)"},
       {"--priority", "N", "priority, 0 to 9; higher-priority jobs start first (default: 0)"},
       {"--network", "MODE",
        "network: none (only hosts and S3) or nat (the server's networks) (default: nat, if "
        "allowed)"},
       encrypt_flag,
       {"--json-file", "FILE",
        "read the job from FILE, in CreateTrainingJob's format; can be combined only with --name, "
        "--wait and --json"},
       {"--wait", "", "follow the job to its end"},
       {"--raw", "", raw_help},
       utc_flag,
       {"--json", "", "print one JSON object; with --wait, one JSON object for each log line"},
       print_file_flag});
}

Page submit() {
  return {
      .name = "submit",
      .group = Group::server,
      .brief = "submit a training job to a server",
      .about = "Submits a training job to the server at AWS_ENDPOINT_URL.",
      .operands = {{"SCRIPT",
                    "training program (a path in the source folder) or job file (.yaml or .yml)",
                    false, "FILE"}},
      .flags = submit_flags(),
      .examples = {{"sm submit train.py --wait",
                    "run train.py on one host and follow the job until it ends"},
                   {"sm submit train.py --name mnist-1 --source-dir code --hosts 3 \\\n"
                    "    --processes-per-host 2 --input train=data/train \\\n"
                    "    --input test=s3://bucket/test --hyperparameter epochs=2",
                    "upload code and data/train, then run 6 MPI processes in total, two on each of "
                    "3 hosts"},
                   {"sm submit --image registry.example.com/team/box:v1 --wait",
                    "run the image's own program; the server's config lists the allowed images"},
                   {"sm submit --json-file job.json",
                    "submit a job from a file in CreateTrainingJob's input format, which the AWS "
                    "CLI also accepts"}},
      .notes = {"Prints the job's name. Files are uploaded to the bucket sagemaker-REGION-ACCOUNT, "
                "as with the SageMaker SDK. After the job is submitted, Ctrl-C does not stop it.",
                encrypt_note, job_file_note, lines_note, endpoint_note},
      .exits = exits_of_followed("submitted; with --wait: the job completed",
                                 "invalid flag, file or key, or the server rejected the request"),
  };
}

Page jobs() {
  return {
      .name = "jobs",
      .group = Group::server,
      .brief = "list the training jobs on this machine and on a server",
      .about =
          "Lists training jobs, newest first. The list contains the jobs that sm fit ran on this "
          "machine (marked local) and, if AWS_ENDPOINT_URL is set, the jobs on that server.",
      .flags =
          {{"--status", "STATUS",
            "list only jobs with this status: InProgress, Completed, Failed, Stopping or Stopped",
            "", false, "InProgress Completed Failed Stopping Stopped"},
           {"--name", "TEXT", "list only jobs whose name contains TEXT"},
           {"--instance-type", "TEXT", "list only jobs whose instance type contains TEXT"},
           {"--tag", "KEY[=VALUE]", "list only jobs on the server that have this tag"},
           {"--limit", "N", "list at most N jobs (default: 20)"},
           utc_flag,
           api_json},
      .examples = {{"sm jobs"},
                   {"sm jobs --status Failed --limit 5"},
                   {"sm jobs --tag team=vision --instance-type ml.p4d"},
                   {"sm jobs --name mnist --json",
                    "jobs on this machine have \"MusterPlace\": \"local\""}},
      .notes = {own_note, "The list includes the last 100 finished jobs on this machine.",
                endpoint_note},
      .exits = exits_of("success", "invalid flag or key"),
  };
}

Page describe() {
  return {
      .name = "describe",
      .group = Group::server,
      .brief = "show the details of a job",
      .about =
          "Shows the details of a job on this machine (run by sm fit) or on the server at "
          "AWS_ENDPOINT_URL: its current state, or how it ended and why.",
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
      .brief = "print or follow the log of a job",
      .about =
          "Prints the log lines of all hosts and the job's status changes, in chronological order. "
          "The job can be on this machine (run by sm fit) or on the server at AWS_ENDPOINT_URL.",
      .operands = {job},
      .flags = {{.name = "--follow",
                 .help = "keep printing new lines until the job ends",
                 .letter = "-f"},
                {"--tail", "N", "show only the last N lines; with -f, also all new lines"},
                {"--host", "HOST", "show only lines from this host: algo-1, algo-2, …"},
                {"--rank", "N", "show only lines from this rank, counting from 0"},
                {"--since", "TIME",
                 "show only lines since TIME: 30s, 10m, 2h or 1d ago, or a local time: "
                 "\"2026-01-31 12:00:00\""},
                {"--raw", "", raw_help},
                utc_flag,
                {"--json", "", "print one JSON object per line instead of text"}},
      .examples = {{"sm logs JOB"},
                   {"sm logs -f JOB", "follow the job until it ends; Ctrl-C does not stop the job"},
                   {"sm logs --tail 20 --host algo-2 JOB"},
                   {"sm logs --rank 3 --since 10m JOB"}},
      .notes = {lines_note, own_note, endpoint_note},
      .exits = exits_of_followed("the log was printed; with -f: the job completed",
                                 "job not found or invalid key"),
  };
}

Page timeline() {
  return {
      .name = "timeline",
      .group = Group::server,
      .brief = "show how long each phase of a job took on each host",
      .about =
          "Shows how long each host of a job spent in each phase, from submission to results. The "
          "phases are waiting, file system, inputs, container, roll call, code, packages, "
          "launcher, and first line of output. There are no gaps between the phases, so their "
          "durations add up to the total time.",
      .operands = {job},
      .flags = {{"--host", "HOST", "show only this host: algo-1, algo-2, …"},
                {"--compare", "OTHER",
                 "show how much more or less time each phase took than in job OTHER"},
                {"--json", "", "print one JSON object, with times in milliseconds since 1970"}},
      .examples = {{"sm timeline JOB"},
                   {"sm timeline JOB --host algo-2"},
                   {"sm timeline JOB --compare OTHER"},
                   {"sm timeline JOB --json"}},
      .notes = {"With more than four hosts, sm timeline shows the minimum, median and maximum of "
                "each phase, and names the host whose first line of output came last. While the "
                "job is running, sm timeline shows the phases so far.",
                "With --compare, sm timeline compares one host from each job: the host whose first "
                "line of output came last.",
                own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page stacks() {
  return {
      .name = "stacks",
      .group = Group::server,
      .brief = "show the stack of every rank of a running job",
      .about =
          "Shows the stacks of all ranks on all hosts as one tree: ranks at the same place in the "
          "code share a line, and outliers are marked. Use it when a job seems to hang. muster "
          "reads the stacks from outside the containers. For non-Python programs, sm stacks shows "
          "the C and C++ frames.",
      .operands = {job},
      .flags = {{"--host", "HOST", "show only this host: algo-1, algo-2, …"},
                {"--native", "", "also show the C and C++ frames below Python frames"},
                {"--json", "", "print one JSON object with every process, thread and frame"}},
      .examples = {{"sm stacks JOB"},
                   {"sm stacks JOB --native", "also show C and C++ frames"},
                   {"sm stacks JOB --json"}},
      .notes = {"py-spy reads the Python frames. Install it in the job's Python environment: pip "
                "install py-spy. For jobs with --image, py-spy must be on PATH on the machine that "
                "runs the host.",
                "To read C and C++ frames, muster stops a running thread for a moment while it "
                "copies the thread's stack. Other threads keep running.",
                own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page top() {
  return {
      .name = "top",
      .group = Group::server,
      .brief = "show the processors, memory, network, disk and GPUs that running jobs use",
      .about =
          "Shows the resources that each host of a running job uses, and the state of each of its "
          "GPUs. On a terminal, the values are updated every second until you press q or Ctrl-C. "
          "Without JOB, sm top shows all running jobs: the jobs that sm fit runs on this machine "
          "and, if AWS_ENDPOINT_URL is set, the newest 20 jobs on that server.",
      .operands = {{"JOB", "name of the job (default: all running jobs)", false}},
      .flags = {utc_shown_flag, {"--json", "", "print one JSON object and exit"}},
      .examples = {{"sm top"},
                   {"sm top mnist-1", "show one job, and exit when the job ends"},
                   {"sm top | cat",
                    "print one table and exit, because the output is not a terminal"},
                   {"sm top mnist-1 --json | jq '.jobs[].hosts[].gpus[].power_watts'"}},
      .notes = {"Rates are averages since the last update. Printing a single table or JSON object "
                "takes a second, because sm top measures twice. CPUS is the number of busy "
                "processors. Unknown values are shown as -, or as null in JSON.",
                "If the terminal is too narrow, the last columns are omitted.",
                "GPU values require nvidia-smi. Older drivers report only utilization and memory. "
                "THROTTLED shows why a GPU's clock speed is reduced, with the reason names that "
                "nvidia-smi uses: sw_power_cap, hw_thermal_slowdown, …",
                own_note, endpoint_note},
      .exits = exits_of("success", "job not found or already ended, or invalid key"),
  };
}

Page trace() {
  return {
      .name = "trace",
      .group = Group::server,
      .brief = "write a job's timeline to a file for ui.perfetto.dev or chrome://tracing",
      .about =
          "Writes the phases of a job's hosts to a file in Chrome's trace format, which Perfetto "
          "can open, and prints the file's name.",
      .operands = {job},
      .flags = {{.name = "--output",
                 .value = "FILE",
                 .help = "output file; - for standard output (default: JOB.trace.json)",
                 .letter = "-o"}},
      .examples = {{"sm trace JOB"}, {"sm trace JOB -o - | gzip >trace.json.gz"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("success", "job not found or invalid key"),
  };
}

Page wait() {
  std::vector<Exit> exits =
      exits_of_followed("all jobs completed; with --any: every job that has ended completed",
                        "job not found or invalid key");
  exits[1] = {"1",
              "a job failed or was stopped; if several jobs did not complete, the first of them on "
              "the command line determines the exit code"};
  exits[4] = {"4",
              "a job exceeded its time limit; if several jobs did not complete, the first of them "
              "on the command line determines the exit code"};
  exits.insert(exits.begin() + 5, {"124", "--timeout expired before the jobs ended"});
  return {
      .name = "wait",
      .group = Group::server,
      .brief = "wait until jobs end",
      .about =
          "Waits until all listed jobs have ended, and prints a line for each job when it ends. "
          "Each job can be on this machine (run by sm fit) or on the server at AWS_ENDPOINT_URL.",
      .operands = {{"JOB", "job names, as shown by sm jobs", true, "", "", true}},
      .flags = {{"--any", "", "return as soon as one of the jobs has ended"},
                {"--timeout", "TIME",
                 "wait at most TIME: 90 (seconds), 10m, 2h; 0 checks once and returns (default: no "
                 "limit)"},
                {"--json", "", "print one JSON object for each job that has ended"}},
      .examples = {{"sm wait JOB && sm submit next.py", "start the next job if this one completes"},
                   {"sm wait run-1 run-2 run-3", "wait for all three jobs"},
                   {"sm wait --any --timeout 1h run-1 run-2"}},
      .notes = {own_note, endpoint_note},
      .exits = std::move(exits),
  };
}

Page rerun() {
  return {
      .name = "rerun",
      .group = Group::server,
      .brief = "run a job again",
      .about =
          "Runs a job again under a new name, with the same settings except those set by the flags "
          "below. The job can be on this machine (run by sm fit) or on the server at "
          "AWS_ENDPOINT_URL.",
      .operands = {job},
      .flags = {hyperparameter_flag,
                env_flag,
                env_file_flag,
                {"--name", "NAME", "name of the new job (default: the old name and the time)"},
                {"--resume", "",
                 "resume from the job's checkpoints and store new checkpoints in the same location "
                 "(default: a new, empty location)"}},
      .examples = {{"sm rerun JOB"},
                   {"sm rerun JOB -p epochs=5 --name run-8",
                    "run the job again with a different number of epochs"},
                   {"sm rerun JOB --resume", "resume from the job's last checkpoint"}},
      .notes = {"On this machine, sm rerun runs sm fit again with the same flags. If the job was "
                "run with --detach, the new job also runs in the background. The new job uses the "
                "current files of the source folder. sm rerun warns about files that are newer "
                "than the old job. muster does not store the values of environment variables, so "
                "pass them again with --env or --env-file.",
                "On a server, the new job reads the same code and data in S3. If anything is "
                "missing there, no job is submitted. sm rerun warns about objects that are newer "
                "than the old job.",
                "The results of the new job are stored in a new location.", own_note,
                endpoint_note},
      .exits = {{"0",
                 "submitted; on this machine: the job completed, or is running in the background"},
                {"1", "on this machine: the job failed"},
                {"2", "job not found, invalid flag, or the job's code or data is missing"},
                {"3",
                 "the server did not respond, or this machine lacks a requirement (see sm doctor)"},
                {"4", "on this machine: the job exceeded its time limit"},
                {"128 + N", "signal N ended the command; jobs on a server keep running"}},
  };
}

Page stop() {
  return {
      .name = "stop",
      .group = Group::server,
      .brief = "stop a job",
      .about =
          "Stops a job on this machine (run by sm fit) or on the server at AWS_ENDPOINT_URL. The "
          "job's processes receive SIGTERM and have two minutes to exit (for jobs run by sm fit, "
          "the time set with --grace, by default 30 s). Files that the processes have written are "
          "kept. --now kills the processes immediately, and so does a second sm stop for a job run "
          "by sm fit.",
      .operands = {job},
      .flags = {{"--now", "",
                 "kill the job's processes immediately, without giving them time to exit"},
                {"--wait", "", "wait until the job has ended"},
                {"--json", "", "print one JSON object with the job's name and status"}},
      .examples = {{"sm stop JOB"},
                   {"sm stop JOB --wait", "wait until the job has ended"},
                   {"sm stop JOB --now", "kill a job that does not exit on SIGTERM"}},
      .notes = {own_note, endpoint_note},
      .exits =
          exits_of("the stop was requested; with --wait: the job has ended, whatever its status",
                   "job not found or already ended, or invalid key"),
  };
}

Page download() {
  return {
      .name = "download",
      .group = Group::server,
      .brief = "download a job's model, output and log",
      .about =
          "Downloads the results of a job from the server at AWS_ENDPOINT_URL. The model "
          "(/opt/ml/model on its hosts) is unpacked in DIR/model, and the output "
          "(/opt/ml/output/data) in DIR/output. The logs are in DIR/log: all.log and one file per "
          "host.",
      .operands = {job,
                   {"DIR", "target folder (default: a folder named after the job)", false, "DIR"}},
      .flags = {{"--model", "",
                 "download only the model; can be combined with --output and --logs"},
                {"--output", "",
                 "download only the output; can be combined with --model and --logs"},
                {"--logs", "", "download only the logs; can be combined with --model and --output"},
                {"--json", "", "print one JSON object with the path of each part"}},
      .examples = {{"sm download JOB"}, {"sm download JOB results --model"}},
      .notes = {"Existing files are not overwritten. A part appears under its final name only "
                "after it has been downloaded completely. Without --model, --output or --logs, all "
                "three parts are downloaded; \"none\" marks a part that the job does not have.",
                endpoint_note},
      .exits = exits_of("all requested parts that exist were downloaded",
                        "job not found, a requested part is missing, the folder is in use, or the "
                        "key is invalid"),
  };
}

Page ui() {
  return {
      .name = "ui",
      .group = Group::server,
      .brief = "open a server's web page in a browser",
      .about =
          "Prints a link to the web page of the server at AWS_ENDPOINT_URL. In a terminal on a "
          "desktop, sm ui also opens the link in your browser. The link works once, within one "
          "minute; the browser then stays logged in for 12 hours.",
      .flags = {{"--no-browser", "", "print the link without opening a browser"},
                {"--url", "", "print only the link"}},
      .examples = {{"sm ui"}, {"firefox \"$(sm ui --url)\"", "open the page immediately"}},
      .notes = {"Until the link is used or expires, it grants the same access as the key. Keep it "
                "secret.",
                endpoint_note},
      .exits = {{"0", "the link was printed"},
                {"2", "invalid key, or the server has no web page"},
                {"3", "the server did not respond or had an internal error"},
                {"128 + N", "signal N ended the command"}},
  };
}

Page delete_page() {
  return {
      .name = "delete",
      .group = Group::server,
      .brief = "delete a finished job and its log",
      .about =
          "Deletes a finished job on this machine (run by sm fit) or on the server at "
          "AWS_ENDPOINT_URL: its description, metrics and log. Its results, including the model, "
          "are kept in the output folder or in S3; the command prints where they are.",
      .operands = {job},
      .flags = {{"--json", "", "print one JSON object with the job's name and status"}},
      .examples = {{"sm delete JOB"},
                   {"sm stop --wait JOB && sm delete JOB", "stop a running job, then delete it"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("deleted", "job not found, or still running"),
  };
}

}  // namespace

std::vector<Page> pages_jobs() {
  return {submit(), jobs(), describe(), logs(), timeline(), trace(), stacks(),
          top(),    wait(), rerun(),    stop(), download(), ui(),    delete_page()};
}

}  // namespace muster::command
