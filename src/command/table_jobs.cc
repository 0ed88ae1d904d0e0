#include "command/page.h"

namespace muster::command {
namespace {

const Operand job{"JOB", "the job's name; sm jobs lists them"};
const Flag api_json{"--json", "", "print one JSON object, as the API has it"};
constexpr std::string_view endpoint_note =
    "AWS_ENDPOINT_URL names the server, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are a key of "
    "it: `sm key create` prints all three as lines for a shell.";

constexpr std::string_view own_note =
    "Jobs that sm fit runs on this machine need no server; they are root's, as sm fit is, and "
    "where "
    "a server has a job of the same name, too, this machine's is meant.";

std::vector<Exit> exits_of(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"2", wrong},
          {"3", "the server does not answer, or is in trouble"},
          {"128 + N", "the command was ended by signal N; jobs go on"}};
}

/// Commands that can follow a job to its end.
std::vector<Exit> exits_of_followed(std::string_view done, std::string_view wrong) {
  return {{"0", done},
          {"1", "followed: the job failed, or somebody stopped it"},
          {"2", wrong},
          {"3", "the server does not answer, or is in trouble"},
          {"4", "followed: the job ran longer than it was allowed to"},
          {"128 + N", "the command was ended by signal N; jobs go on"}};
}

std::vector<Flag> submit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code, or s3://…/sourcedir.tar.gz (default: the script alone)"},
       {"--image", "NAME",
        "the hosts' image (default: host, the server's own programs); without SCRIPT its own "
        "program runs"},
       {"--instance-type", "TYPE", "what each host gets (default: local)"},
       {"--volume-size", "GIB", "what each host may have on disk (default 30)"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "an input channel: s3://… or a folder, which is uploaded",
        .many = true,
        .letter = "-i"},
       hyperparameter_flag,
       hyperparameters_flag,
       env_flag,
       env_file_flag,
       {"--metric", "NAME=REGEX", metric_help, "", true},
       {.name = "--output",
        .value = "S3URL",
        .help = "where the model goes (default: the default bucket)",
        .letter = "-o"},
       {"--checkpoints", "DIR",
        "the job's checkpoints: s3://…, or a folder, whose files are uploaded first; new ones stay "
        "in S3"},
       {"--name", "NAME", "the job's name (default: the script's name and the time)"},
       {"--tag", "KEY=VALUE", "a tag of the job, for sm jobs --tag", "", true},
       {"--timeout", "TIME", "stop the job after so long: 90 (seconds), 10m, 2h (default 1d)"},
       {"--priority", "N", "0 to 9: jobs of higher priority start first (default 0)"},
       {"--network", "MODE",
        "what hosts reach besides each other and S3: nat, what the server's machine does (default, "
        "where the server allows it), or none"},
       {"--encrypt", "", "what hosts send each other is encrypted"},
       {"--json-file", "FILE", "the job as CreateTrainingJob's input; only --name counts too"},
       {"--wait", "", "follow the job to its end"},
       {"--raw", "", raw_help},
       {"--json", "", "print one JSON object, with --wait one for each line of the log"}});
}

Page submit() {
  return {
      .name = "submit",
      .group = Group::server,
      .brief = "give a server a training job",
      .about = "Gives a training job to the server that AWS_ENDPOINT_URL names.",
      .operands = {{"SCRIPT", "the program to train with, a path in the source folder", false,
                    "FILE"}},
      .flags = submit_flags(),
      .examples = {{"sm submit train.py --wait",
                    "run train.py on one host of the server and follow it"},
                   {"sm submit train.py --name mnist-1 --source-dir code --hosts 3 \\\n"
                    "    --processes-per-host 2 --input train=data/train \\\n"
                    "    --input test=s3://bucket/test --hyperparameter epochs=2",
                    "code and data/train are uploaded; 6 MPI processes on 3 hosts"},
                   {"sm submit --image registry.example.com/team/box:v1 --wait",
                    "the image's own program runs; the server's config lists what it may be"},
                   {"sm submit --json-file job.json",
                    "the file holds CreateTrainingJob's input, as for the AWS CLI"}},
      .notes = {"It prints the job's name. Uploads go to the bucket sagemaker-REGION-ACCOUNT, as "
                "the SageMaker SDK's. Ctrl-C leaves a submitted job alone.",
                lines_note, endpoint_note},
      .exits = exits_of_followed(
          "submitted; with --wait: the job completed",
          "what was given is wrong: a flag, a file, a key, a request that the server refuses"),
  };
}

Page jobs() {
  return {
      .name = "jobs",
      .group = Group::server,
      .brief = "list training jobs: this machine's and a server's",
      .about =
          "Lists training jobs, newest first: those that sm fit runs or ran on this machine, "
          "marked local, and those of the server that AWS_ENDPOINT_URL names, if it is set.",
      .flags = {{"--status", "STATUS",
                 "only InProgress, Completed, Failed, Stopping or Stopped ones", "", false,
                 "InProgress Completed Failed Stopping Stopped"},
                {"--name", "TEXT", "only jobs with this text in their name"},
                {"--instance-type", "TEXT", "only jobs with hosts of a type with this text"},
                {"--tag", "KEY[=VALUE]", "only the server's jobs with this tag"},
                {"--limit", "N", "at most so many (default 20)"},
                api_json},
      .examples = {{"sm jobs"},
                   {"sm jobs --status Failed --limit 5"},
                   {"sm jobs --tag team=vision --instance-type ml.p4d"},
                   {"sm jobs --name mnist --json",
                    "this machine's have \"MusterPlace\": \"local\""}},
      .notes = {own_note, "The last 100 jobs of this machine that have ended are told of.",
                endpoint_note},
      .exits = exits_of("listed", "what was given is wrong: a flag, a key"),
  };
}

Page describe() {
  return {
      .name = "describe",
      .group = Group::server,
      .brief = "tell all about a job of this machine or of a server",
      .about =
          "Tells all about a job that sm fit runs or ran on this machine, or one of the server "
          "that AWS_ENDPOINT_URL names: how it is, or how it ended and why.",
      .operands = {job},
      .flags = {api_json},
      .examples = {{"sm describe mnist-2026-01-31-12-00-00-1a2b"}, {"sm describe --json JOB"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("told", "what was given is wrong: a job that does not exist, a key"),
  };
}

Page logs() {
  return {
      .name = "logs",
      .group = Group::server,
      .brief = "print or follow the log of a job of this machine or of a server",
      .about =
          "Prints what a job that sm fit runs or ran on this machine, or one of the server that "
          "AWS_ENDPOINT_URL names, has written: the lines of all hosts and the job's statuses, in "
          "order of time.",
      .operands = {job},
      .flags = {{.name = "--follow", .help = "go on until the job ends", .letter = "-f"},
                {"--tail", "N", "only the last N lines; with -f also all that come then"},
                {"--host", "HOST", "only the lines of this host: algo-1, algo-2, …"},
                {"--rank", "N", "only the lines of this rank, from 0 on"},
                {"--since", "TIME",
                 "only what came since: 30s, 10m, 2h or 1d ago, or a time such as "
                 "\"2026-01-31 12:00:00\", in UTC"},
                {"--raw", "", raw_help},
                {"--json", "", "one JSON object a line instead of text"}},
      .examples = {{"sm logs JOB"},
                   {"sm logs -f JOB", "goes on to the job's end; Ctrl-C leaves the job alone"},
                   {"sm logs --tail 20 --host algo-2 JOB"},
                   {"sm logs --rank 3 --since 10m JOB"}},
      .notes = {lines_note, own_note, endpoint_note},
      .exits = exits_of_followed("printed; with -f: the job completed",
                                 "what was given is wrong: a job that does not exist, a key"),
  };
}

Page timeline() {
  return {
      .name = "timeline",
      .group = Group::server,
      .brief = "show what each host of a job did before its first line, and how long it took",
      .about =
          "Shows the phases of each host of a job, from its submission to its results: what it "
          "waited for, how long its file system, inputs, container, roll call, code, packages and "
          "launcher took, when its first line came. Phases touch: they add up to the whole.",
      .operands = {job},
      .flags = {{"--host", "HOST", "only this host: algo-1, algo-2, …"},
                {"--compare", "OTHER",
                 "tell how much longer or shorter each phase took than in it"},
                {"--json", "", "print one JSON object: points in milliseconds since 1970"}},
      .examples = {{"sm timeline JOB"},
                   {"sm timeline JOB --host algo-2"},
                   {"sm timeline JOB --compare OTHER"},
                   {"sm timeline JOB --json"}},
      .notes = {"Of more than four hosts it shows each phase's least, median and most, and the "
                "host whose first line came last. While a job runs it shows what there is.",
                "Two jobs are compared by their hosts whose first line came last.", own_note,
                endpoint_note},
      .exits = exits_of("told", "what was given is wrong: a job that does not exist, a key"),
  };
}

Page stacks() {
  return {
      .name = "stacks",
      .group = Group::server,
      .brief = "show where every rank of a running job stands",
      .about =
          "Takes the stacks of all ranks on all hosts, from outside of their containers, and shows "
          "them as one tree: ranks that stand at one place are one line, and those that stand "
          "elsewhere than most are marked. For a job that seems to hang. Programs that are not "
          "Python's are told by their calls of C and C++.",
      .operands = {job},
      .flags = {{"--host", "HOST", "only this host: algo-1, algo-2, …"},
                {"--native", "", "calls of C and C++ below Python's too"},
                {"--json", "", "print one JSON object: every process, thread and call"}},
      .examples = {{"sm stacks JOB"},
                   {"sm stacks JOB --native", "shows calls of C and C++ too"},
                   {"sm stacks JOB --json"}},
      .notes = {"Python's calls are read by py-spy (pip install py-spy), on the machine that the "
                "host runs on; sm doctor tells whether it is there.",
                "A thread that runs is stopped for a moment, to copy its stack, where "
                "native calls are told; nothing else is stopped.",
                own_note, endpoint_note},
      .exits = exits_of("told", "what was given is wrong: a job that does not exist, a key"),
  };
}

Page trace() {
  return {
      .name = "trace",
      .group = Group::server,
      .brief = "write a job's timeline as a file for ui.perfetto.dev or chrome://tracing",
      .about =
          "Writes the phases of a job's hosts in Chrome's trace format, which Perfetto opens, and "
          "prints the file's name.",
      .operands = {job},
      .flags = {{.name = "--output",
                 .value = "FILE",
                 .help = "where to (default JOB.trace.json); - for standard output",
                 .letter = "-o"}},
      .examples = {{"sm trace JOB"}, {"sm trace JOB -o - | gzip >trace.json.gz"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("written", "what was given is wrong: a job that does not exist, a key"),
  };
}

Page wait() {
  std::vector<Exit> exits =
      exits_of_followed("all jobs completed; with --any: those that have ended did",
                        "what was given is wrong: a job that does not exist, a key");
  exits[1] = {"1", "the first in the given order that did not complete failed, or was stopped"};
  exits[4] = {"4", "it ran longer than it was allowed to"};
  exits.insert(exits.begin() + 5, {"124", "--timeout passed first"});
  return {
      .name = "wait",
      .group = Group::server,
      .brief = "wait until jobs of this machine or of a server have ended",
      .about =
          "Waits until all the named jobs have ended, and prints one line for each as it ends. "
          "Each is a job that sm fit runs on this machine, or one of the server that "
          "AWS_ENDPOINT_URL names.",
      .operands = {{"JOB", "names of jobs; sm jobs lists them", true, "", "", true}},
      .flags = {{"--any", "", "return as soon as one of the jobs has ended"},
                {"--timeout", "TIME",
                 "return after at most this time: 90 (seconds), 10m, 2h; 0 only looks (default: no "
                 "limit)"},
                {"--json", "", "print one JSON object for each ended job"}},
      .examples = {{"sm wait JOB && sm submit next.py", "start the next job if this one completed"},
                   {"sm wait run-1 run-2 run-3", "all three"},
                   {"sm wait --any --timeout 1h run-1 run-2"}},
      .notes = {own_note, endpoint_note},
      .exits = std::move(exits),
  };
}

Page stop() {
  return {
      .name = "stop",
      .group = Group::server,
      .brief = "stop a job of this machine or of a server",
      .about =
          "Stops a job that sm fit runs on this machine, or one of the server that "
          "AWS_ENDPOINT_URL names: SIGTERM to its processes, two minutes to end (of sm fit: "
          "--grace, 30 s), "
          "and what they have written by then is kept. --now ends that time at once; so does "
          "a second sm stop of a job of sm fit.",
      .operands = {job},
      .flags = {{"--now", "", "kill what runs of the job, without more time to end"},
                {"--wait", "", "return when the job has ended"},
                {"--json", "", "print one JSON object: the job's name and its status"}},
      .examples = {{"sm stop JOB"},
                   {"sm stop JOB --wait", "returns when the job has ended"},
                   {"sm stop JOB --now", "a job that does not end by itself"}},
      .notes = {own_note, endpoint_note},
      .exits = exits_of("asked; with --wait: the job has ended, however",
                        "what was given is wrong: a job that does not exist or has ended, a key"),
  };
}

Page download() {
  return {
      .name = "download",
      .group = Group::server,
      .brief = "bring a job's model, output and log here",
      .about =
          "Brings what a job of the server that AWS_ENDPOINT_URL names has left: its model "
          "(/opt/ml/model of its hosts) into DIR/model, its output (/opt/ml/output/data) into "
          "DIR/output, both unpacked, its log into DIR/log: all.log, and a file for each host.",
      .operands = {job, {"DIR", "where to (default: a folder of the job's name)", false, "DIR"}},
      .flags = {{"--model", "", "the model alone, or with what else is named"},
                {"--output", "", "the output alone, likewise"},
                {"--logs", "", "the log alone, likewise"},
                {"--json", "", "print one JSON object: what was put where"}},
      .examples = {{"sm download JOB"}, {"sm download JOB results --model"}},
      .notes = {"What is there already is not written over. A part stands under its name once it "
                "is whole. All three are asked for if none is named, and what there is not is told "
                "as none.",
                endpoint_note},
      .exits = exits_of("what there is was brought",
                        "what was given is wrong: a job that does not exist, a part that was named "
                        "and is not there, a folder in use, a key"),
  };
}

Page ui() {
  return {
      .name = "ui",
      .group = Group::server,
      .brief = "open the web page of a server",
      .about =
          "Prints a link to the web page of the server that AWS_ENDPOINT_URL names, and on a "
          "terminal of a desktop opens it in your browser. The link lets one browser in, once, "
          "within a minute; the browser then stays in for 12 hours.",
      .flags = {{"--no-browser", "", "print the link, and leave the browser to you"},
                {"--url", "", "print the link alone"}},
      .examples = {{"sm ui"}, {"firefox \"$(sm ui --url)\"", "opens it at once"}},
      .notes = {"Whoever has the link may do what the key may, until it was used or is a minute "
                "old.",
                endpoint_note},
      .exits = {{"0", "the link was printed"},
                {"2", "what was given is wrong: a key, a server without a web page"},
                {"3", "the server does not answer, or is in trouble"},
                {"128 + N", "the command was ended by signal N"}},
  };
}

Page delete_page() {
  return {
      .name = "delete",
      .group = Group::server,
      .brief = "delete an ended job of this machine or of a server, with its log",
      .about =
          "Deletes a job that has ended: one that sm fit ran on this machine, or one of the server "
          "that AWS_ENDPOINT_URL names. Its description, metrics and log go. Its output folder, or "
          "its output in S3, stays, the model too, and is named.",
      .operands = {job},
      .flags = {{"--json", "", "print one JSON object: the job's name and its status"}},
      .examples = {{"sm delete JOB"},
                   {"sm stop --wait JOB && sm delete JOB", "a job that still runs"}},
      .notes = {own_note, endpoint_note},
      .exits =
          exits_of("deleted", "what was given is wrong: a job that does not exist or still runs"),
  };
}

}  // namespace

std::vector<Page> pages_jobs() {
  return {submit(), jobs(), describe(), logs(),     timeline(), trace(),
          stacks(), wait(), stop(),     download(), ui(),       delete_page()};
}

}  // namespace muster::command
