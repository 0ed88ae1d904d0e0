#include "command/job_flags.h"

namespace muster::command {
namespace {

const Flag engine_flag = {"--engine", "NAME",
                          "where hosts run: local, this machine (default), or slurm, nodes of this "
                          "submit host's cluster"};
const Flag max_wait_flag = {"--max-wait", "TIME",
                            "stop the job once its queue time plus run time exceeds TIME"};
const Flag hang_after_flag = {
    "--hang-after", "TIME",
    "after this time without output or progress, report a hang with all stacks: 60 (seconds), 10m"};
const Flag pip_conf_flag = {"--pip-conf", "FILE",
                            "pip's configuration in every host: mirror, login (default: the file "
                            "that PIP_CONFIG_FILE names)"};
const Flag retries_flag = {
    "--retries", "N",
    "restarts after lost nodes, 0 to 30 (default 2; on this machine without --spares: 0)"};
const Flag spares_flag = {
    "--spares", "N",
    "extra standby nodes of a cluster, 0 to 16 (default 0): one replaces a lost node at once"};
const Flag preflight_flag = {
    "--preflight", "",
    "first test the links between nodes of a cluster: names the outlier; an error ends the job"};
const Flag slurm_flag = {
    "--slurm", "NAME=VALUE",
    "an option of sbatch: partition, account, qos, constraint, exclusive, …; also address and sm",
    "", true};
constexpr std::string_view slurm_note =
    "--slurm also accepts address=HOST, where nodes reach this machine, and sm=PATH, the path of "
    "sm "
    "on the nodes.";

constexpr Flag encrypt_flag{
    "--encrypt", "",
    "EnableInterContainerTrafficEncryption: accepted on one machine, where traffic between hosts "
    "stays inside the kernel, not encrypted; rejected on a cluster"};

/// The five that are typed most have letters: -H and -n as mpirun calls hosts and processes, -i and
/// -o as most programs do, -p for a parameter since -h is help. `sm submit` has the same.
std::vector<Flag> fit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code (default: the script's folder); it is never changed"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "an input channel: a folder, visible below /opt/ml/input/data",
        .many = true,
        .letter = "-i"},
       {"--image", "NAME",
        "image for the hosts: a name from sm image ls, or a source such as docker-daemon:NAME"},
       {"--policy", "FILE", "a policy.json in skopeo's format that the image must satisfy"},
       {"--bind", "PATH[:PATH][:ro|rw]",
        "mount this machine's PATH in every host, at the second PATH if set; read-only unless :rw "
        "follows",
        "", true},
       hyperparameter_flag,
       text_hyperparameter_flag,
       hyperparameters_flag,
       env_flag,
       env_file_flag,
       {"--metric", "NAME=REGEX", metric_help, "", true},
       {.name = "--output",
        .value = "DIR",
        .help = "new or empty folder for the job's results and logs (default: the job's name)",
        .letter = "-o"},
       {"--overwrite", "", "replace an earlier job's results in the output folder"},
       {"--checkpoints", "DIR",
        "folder copied to /opt/ml/checkpoints at the start; new files are copied back during the "
        "job"},
       {"--name", "NAME", "job name (default: the script's name and the time)"},
       {"--python", "PATH", "interpreter for Python scripts (default: python3 on PATH)"},
       {"--memory", "SIZE",
        "memory limit of each host, e.g. 512m or 2g (default: all memory that jobs may use)"},
       {"--cpus", "N", "CPU limit of each host, e.g. 2 or 1.5 (default: all)"},
       {"--gpus", "N",
        "number of this machine's GPUs that each host gets for itself (default: none)"},
       {"--shm-size", "SIZE",
        "size of /dev/shm, e.g. 8g (default 1g, with GPUs half of the host's memory)"},
       {"--volume-size", "GIB", "disk limit of each host, including inputs (default: no limit)"},
       {"--network", "MODE",
        "network of hosts: nat (default), none (only each other), or host (this machine's own; one "
        "host)"},
       pip_conf_flag,
       encrypt_flag,
       {"--timeout", "TIME", "stop the job after this time: 90 (seconds), 10m, 2h (default 1d)"},
       max_wait_flag,
       hang_after_flag,
       {"--end-hung", "", "end a job that hangs, with the status Failed"},
       {"--grace", "TIME",
        "time between a stop request and the kill: 5 (seconds), 2m (default 30s)"},
       {"--keep", "",
        "keep the job's folder (journals, logs, settings) for inspection; sm clean --all removes "
        "it"},
       engine_flag,
       slurm_flag,
       retries_flag,
       spares_flag,
       preflight_flag,
       {"--detach", "",
        "return as soon as the job runs; prints the job's name and the next commands to use"},
       {"--raw", "", raw_help},
       utc_flag,
       {"--json", "", "print one JSON object per line instead of text"},
       {"--verbose", "", "also log what muster and train do"},
       {"--timeline", "", "at the end, show how long each phase took, like sm timeline"},
       {"--print-plan", "", "print the job's specification and exit"},
       print_file_flag});
}

Page fit() {
  return {
      .name = "fit",
      .group = Group::here,
      .brief = "run a training job on this machine",
      .about = "Runs a training job on this machine, with each host in its own container.",
      .operands = {{"SCRIPT", "the training program, a path in the source folder; or a job file",
                    false, "FILE"}},
      .rest = Rest::behind_dashes,
      .rest_optional = true,
      .flags = fit_flags(),
      .examples =
          {{"sm fit train.py", "run train.py from this folder on one host"},
           {"sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out",
            "run it under MPI: 6 processes on 3 hosts"},
           {"sm fit train.py --input train=data/train --hyperparameter epochs=2 --env DEBUG=1",
            "the data is at /opt/ml/input/data/train, and the script is passed --epochs 2"},
           {"sm fit train.py --bind /mnt/data:/data --bind ~/cache:/cache:rw",
            "mount a data disk read-only, and a folder that hosts may write to"},
           {"sm fit --image team/box:v1 --hosts 2",
            "run the image's ENTRYPOINT with the argument train, on two hosts"},
           {"sm fit train.py --checkpoints ckpt",
            "continue from the checkpoints of an earlier job in ckpt"},
           {"sm fit train.py --detach --name run-7 && sm logs -f run-7",
            "the job keeps running when the terminal is closed; Ctrl-C ends only sm logs"},
           {"sm fit train.py --engine slurm --hosts 4 --slurm partition=gpu --gpus 8",
            "run on four nodes of a cluster; log, results and Ctrl-C work as on this machine"},
           {"sm fit train.py --engine slurm --hosts 4 --spares 1",
            "reserve a fifth node to replace one that fails"},
           {"sm fit train.py -- --resume 'last run'",
            "arguments after -- are passed to the script unchanged, after the hyperparameters"},
           {"sm fit job.yaml --hosts 4", "run a job file, with another number of hosts"}},
      .notes = {"The script's environment is the same as on SageMaker: SM_* variables and files "
                "under /opt/ml. Files written to /opt/ml/model and /opt/ml/output are copied to "
                "model/, output/ and, on failure, failure/ in the output folder; its log/ gets "
                "all.log and a file for each host. Without --output, the folder is created only if "
                "the job writes files or is detached.",
                lines_note,
                "--image also accepts images in their current state: oci:DIR[:TAG], "
                "docker-archive:FILE[:NAME], docker-daemon:NAME or containers-storage:NAME. "
                "Without SCRIPT, the image's own program runs. Without --image, hosts use this "
                "machine's programs.",
                "--network nat: hosts reach what this machine reaches. --network host: one host "
                "uses this machine's own network, with its services.",
                "--hang-after requires py-spy to recognize ranks that hang while using CPU time.",
                "Preemptions don't count toward --retries, but --retries 0 disables all restarts. "
                "On this machine, --spares rehearses the loss of a node.",
                job_file_note, slurm_note,
                "Ctrl-C stops the job; a second Ctrl-C kills it. From another terminal, or for a "
                "detached job, use sm jobs, sm logs, sm describe and sm stop."},
      .exits = {{"0", "the job completed; with --detach: the job is running"},
                {"1",
                 "the job failed; standard error shows the rank or host, how it ended and its last "
                 "lines"},
                {"2",
                 "invalid flag, file or folder, or the job name is in use; nothing was started"},
                {"3",
                 "the machine lacks something (see sm doctor), or muster itself failed, e.g. could "
                 "not write a result"},
                {"4", "the job exceeded --timeout and was stopped"},
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
       .help = "processes per host, under MPI (even without --mpi) or torchrun (default there: one "
               "per GPU)",
       .letter = "-n"},
      {"--mpi", "", "run under MPI, even with one process"},
      {"--torchrun", "", "start PyTorch's torchrun on each host, with the leader's address"},
      {"--tf", "", "run under TensorFlow's MultiWorkerMirroredStrategy: TF_CONFIG names all hosts"},
      {"--mxnet", "", "run with MXNet's scheduler and parameter servers"},
      {"--custom-mpi-options", "TEXT", "more options for mpirun, as one string"}};
  before.insert(before.end(), launch.begin(), launch.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

std::vector<Page> pages_here() {
  return {
      fit(),
      {.name = "doctor",
       .group = Group::here,
       .brief = "check what this machine lacks and how to install it",
       .about = "Checks what this machine, or a Slurm cluster, has and lacks for running jobs. "
                "Shows the purpose of each item and how to install it. On this machine it also "
                "runs a one-host job, which takes less than a second.",
       .flags = {{"--python", "PROGRAM",
                  "interpreter whose modules are checked (default: python3 on PATH)"},
                 {"--engine", "NAME",
                  "local, this machine (default), or slurm: the cluster that this submit host "
                  "belongs to"},
                 slurm_flag,
                 {"--probe", "",
                  "with --engine slurm: also run a short job to check clocks, free space and "
                  "programs of idle nodes"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm doctor"},
                    {"sm doctor --python ~/venv/bin/python", "check for jobs that use this venv"},
                    {"sm doctor --engine slurm --slurm partition=gpu --probe"}},
       .notes = {slurm_note},
       .exits = {{"0", "everything that jobs need is available"},
                 {"2", "usage error"},
                 {"3", "something is missing"}}},
      {.name = "clean",
       .group = Group::here,
       .brief = "remove leftovers of killed jobs",
       .about =
           "Removes the leftovers of killed jobs on this machine. Running jobs are not affected.",
       .flags = {{"--all", "",
                  "also remove folders kept by `sm fit --keep`, and the records of finished jobs "
                  "in sm jobs"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm clean"},
                    {"sm clean --all",
                     "also remove folders of jobs with --keep, and the records of finished jobs"}},
       .exits = {{"0", "nothing is left"},
                 {"2", "usage error"},
                 {"3", "this user may not create namespaces, or something could not be removed"}}},
  };
}

}  // namespace muster::command
