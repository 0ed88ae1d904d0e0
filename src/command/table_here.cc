#include "command/page.h"

namespace muster::command {
namespace {

const Flag engine_flag = {
    "--engine", "NAME",
    "where hosts run: local, this machine (default), or slurm, nodes of a Slurm cluster of which "
    "this is a submit host"};
const Flag max_wait_flag = {
    "--max-wait", "TIME",
    "stop the job when it has waited in a cluster's queue and run for so long together"};
const Flag hang_after_flag = {
    "--hang-after", "TIME",
    "say so, with all stacks, when nothing is printed and no rank gets on for so long: 60 "
    "(seconds), 10m; needs py-spy for ranks that spin"};
const Flag pip_conf_flag = {
    "--pip-conf", "FILE",
    "what pip reads in every host: a mirror's address, a login (default: the file that "
    "PIP_CONFIG_FILE names)"};
const Flag retries_flag = {
    "--retries", "N",
    "how often the job may start again after nodes were lost, 0 to 30 (default 2, on this machine "
    "without --spares 0); preemptions do not count, but 0 is never"};
const Flag spares_flag = {"--spares", "N",
                          "nodes of a cluster more that stand by, 0 to 16 (default 0): a job that "
                          "loses a node goes on at "
                          "once on one of them; on this machine, to rehearse that"};
const Flag preflight_flag = {
    "--preflight", "",
    "on a cluster, measure the ways between the nodes first, and name the odd one; an error ends "
    "the job before its program runs"};
const Flag slurm_flag = {
    "--slurm", "NAME=VALUE",
    "what Slurm is asked for: partition, account, qos, constraint, exclusive and others of "
    "sbatch's options; also address, by which nodes reach this machine, and sm, where nodes have "
    "this program",
    "", true};

/// The five that are typed most have letters: -H and -n as mpirun calls hosts and processes, -i and
/// -o as most programs do, -p for a parameter since -h is help. `sm submit` has the same.
std::vector<Flag> fit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code (default: the script's own); never written to"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "an input channel: a folder, seen below /opt/ml/input/data",
        .many = true,
        .letter = "-i"},
       {"--image", "NAME",
        "what hosts are made of, in place of this machine's programs: an image that sm image pull "
        "or import brought, or oci:DIR[:TAG], docker-archive:FILE[:NAME], docker-daemon:NAME or "
        "containers-storage:NAME, as it is there now; without SCRIPT its own program runs"},
       {"--policy", "FILE", "a policy.json, as skopeo reads it, that the image has to satisfy"},
       {"--bind", "PATH[:PATH][:ro|rw]",
        "show a folder or file of the machine in every host, as it is, at the second path "
        "(default: the same); read-only unless :rw is behind it",
        "", true},
       hyperparameter_flag,
       hyperparameters_flag,
       env_flag,
       env_file_flag,
       {"--metric", "NAME=REGEX", metric_help, "", true},
       {.name = "--output",
        .value = "DIR",
        .help =
            "new or empty folder for model/, output/, log/ and, on failure, failure/ (default: one "
            "named as the job, made only if the job leaves files or is detached)",
        .letter = "-o"},
       {"--overwrite", "", "replace an earlier job's results in the output folder"},
       {"--checkpoints", "DIR",
        "what it holds is in /opt/ml/checkpoints at the start, what is written there comes back "
        "while the job runs"},
       {"--name", "NAME", "the job's name (default: the script's name and the time)"},
       {"--python", "PATH", "interpreter for Python scripts (default: python3 of PATH)"},
       {"--memory", "SIZE", "each host's limit, as 512m or 2g (default: all that jobs may have)"},
       {"--cpus", "N", "processor time of each host, as 2 or 1.5 (default: all)"},
       {"--gpus", "N",
        "GPUs of this machine for each host, that no other host has (default: none)"},
       {"--shm-size", "SIZE", "size of /dev/shm, as 8g (default 1g)"},
       {"--volume-size", "GIB", "what each host may have on disk, inputs too (default: no limit)"},
       {"--network", "MODE",
        "what hosts reach besides each other: nat, what this machine reaches (default); none; or "
        "host, for one host: the machine's own network, its services, too"},
       pip_conf_flag,
       {"--encrypt", "", "what hosts send each other is encrypted, or the job fails at its start"},
       {"--timeout", "TIME", "stop the job after so long: 90 (seconds), 10m, 2h (default 1d)"},
       max_wait_flag,
       hang_after_flag,
       {"--end-hung", "", "end a job that hangs so: it fails"},
       {"--grace", "TIME", "from a stop request to the kill: 5 (seconds), 2m (default 30s)"},
       {"--keep", "",
        "leave the job's folder (journals, logs, settings) for inspection; sm clean --all "
        "removes it"},
       engine_flag,
       slurm_flag,
       retries_flag,
       spares_flag,
       preflight_flag,
       {"--detach", "",
        "return as soon as the job runs: it prints the job's name, and what to type next"},
       {"--raw", "", raw_help},
       {"--json", "", "one JSON object a line instead of text"},
       {"--verbose", "", "also tell what muster and train do"},
       {"--timeline", "", "at the end show how long each phase took, as sm timeline does"},
       {"--print-plan", "", "print the job's specification and exit"}});
}

Page fit() {
  return {
      .name = "fit",
      .group = Group::here,
      .brief = "run a training job on this machine",
      .about = "Runs a training job on this machine, each host in a container of its own.",
      .operands = {{"SCRIPT", "the program to train with, a path in the source folder", false,
                    "FILE"}},
      .rest = Rest::behind_dashes,
      .rest_optional = true,
      .flags = fit_flags(),
      .examples =
          {{"sm fit train.py", "run train.py of this folder on one host"},
           {"sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out",
            "run it under MPI: 6 processes on 3 hosts"},
           {"sm fit train.py --input train=data/train --hyperparameter epochs=2 --env DEBUG=1",
            "data appears as /opt/ml/input/data/train, the script gets --epochs 2"},
           {"sm fit train.py --bind /mnt/data:/data --bind ~/cache:/cache:rw",
            "a data disk as it is, read-only, and a folder that hosts may write to"},
           {"sm fit --image team/box:v1 --hosts 2",
            "what the image's ENTRYPOINT starts, with the argument train, on two hosts"},
           {"sm fit train.py --checkpoints ckpt",
            "a job that goes on from what an earlier one left in ckpt"},
           {"sm fit train.py --detach --name run-7 && sm logs -f run-7",
            "the job goes on when the terminal is closed; Ctrl-C ends only sm logs"},
           {"sm fit train.py --engine slurm --hosts 4 --slurm partition=gpu --gpus 8",
            "four nodes of a cluster; the log, the results and Ctrl-C are as here"},
           {"sm fit train.py --engine slurm --hosts 4 --spares 1",
            "a fifth node stands by for one that fails"},
           {"sm fit train.py -- --resume 'last run'",
            "what follows -- is given to the script as it is, behind the hyperparameters"}},
      .notes =
          {"The script finds the job as on SageMaker: SM_* variables, files under /opt/ml. What it "
           "writes to /opt/ml/model and /opt/ml/output comes to the output folder, its log to log/ "
           "there: "
           "all.log, and a file for each host.",
           lines_note,
           "Ctrl-C stops the job, a second one kills it. From another terminal, and for a job "
           "that is detached: sm jobs, sm logs, sm describe, sm stop."},
      .exits = {{"0", "the job completed; with --detach: it runs"},
                {"1",
                 "the job failed: standard error names the rank or host, how it ended, and its "
                 "last lines"},
                {"2",
                 "what was given is wrong: a flag, a file, a folder, a job name in use; nothing "
                 "was started"},
                {"3",
                 "the machine lacks something (sm doctor tells what), or muster itself failed: a "
                 "result that could not be put in place too"},
                {"4", "the job ran longer than --timeout and was stopped"},
                {"128 + N",
                 "the job was stopped by signal N: 130 after Ctrl-C, 143 after SIGTERM, 129 when "
                 "the terminal was closed"}},
  };
}

}  // namespace

std::vector<Flag> around_launch_flags(std::vector<Flag> before, const std::vector<Flag>& after) {
  const std::vector<Flag> launch = {
      {.name = "--hosts",
       .value = "N",
       .help = "number of hosts, 1 to 250 (default 1)",
       .letter = "-H"},
      {.name = "--processes-per-host",
       .value = "N",
       .help =
           "processes on each host, under MPI (also without --mpi) or torchrun (there by default "
           "one for each GPU)",
       .letter = "-n"},
      {"--mpi", "", "run under MPI also with one process"},
      {"--torchrun", "", "start PyTorch's torchrun on each host, told who leads"},
      {"--tf", "", "run under TensorFlow's MultiWorkerMirroredStrategy: TF_CONFIG names all hosts"},
      {"--mxnet", "", "run with MXNet's scheduler and parameter servers"},
      {"--custom-mpi-options", "TEXT", "more options for mpirun, in one text"}};
  before.insert(before.end(), launch.begin(), launch.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

std::vector<Page> pages_here() {
  return {
      fit(),
      {.name = "doctor",
       .group = Group::here,
       .brief = "say what this machine lacks and how to install it",
       .about =
           "Says what this machine, or a Slurm cluster, has and lacks for running jobs, what each "
           "thing is for, and how to install it.",
       .flags = {{"--python", "PROGRAM",
                  "the interpreter whose modules are looked for (default: python3 of PATH)"},
                 {"--engine", "NAME",
                  "local, this machine (default), or slurm: the Slurm cluster of which this is a "
                  "submit host"},
                 slurm_flag,
                 {"--probe", "",
                  "with --engine slurm: also ask nodes that are free, by a job of a few seconds, "
                  "for their clocks, room and programs"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm doctor"},
                    {"sm doctor --python ~/venv/bin/python", "what jobs of that venv will find"},
                    {"sm doctor --engine slurm --slurm partition=gpu --probe"}},
       .exits = {{"0", "all that jobs need is there"},
                 {"2", "what was given is wrong"},
                 {"3", "something is missing"}}},
      {.name = "clean",
       .group = Group::here,
       .brief = "remove what killed jobs left behind",
       .about = "Removes what killed jobs left on this machine; living jobs are not touched.",
       .flags = {{"--all", "",
                  "also what `sm fit --keep` kept, and what sm jobs tells of jobs that ended"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm clean"},
                    {"sm clean --all",
                     "also folders of jobs that ran with --keep, and ended jobs' records"}},
       .exits = {{"0", "nothing is left"},
                 {"2", "what was given is wrong"},
                 {"3", "this user may make no namespaces, or something could not be removed"}}},
  };
}

}  // namespace muster::command
