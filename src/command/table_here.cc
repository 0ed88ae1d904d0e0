#include "command/job_flags.h"

namespace muster::command {
namespace {

const Flag engine_flag = {"--engine", "NAME",
                          "where hosts run: on this machine (local) or on nodes of a Slurm cluster "
                          "(slurm) (default: local)"};
const Flag max_wait_flag = {"--max-wait", "TIME",
                            "stop the job once its queue time plus run time exceeds TIME"};
const Flag hang_after_flag = {
    "--hang-after", "TIME",
    "report a hang, with all stacks, after TIME without output or progress: 60 (seconds), 10m"};
const Flag pip_conf_flag = {
    "--pip-conf", "FILE",
    "pip configuration file for every host, e.g. with a mirror or login (env PIP_CONFIG_FILE)"};
const Flag retries_flag = {"--retries", "N",
                           "maximum number of restarts after the loss of a node, 0 to 30 (default: "
                           "2; on one machine without --spares: 0)"};
const Flag spares_flag = {"--spares", "N",
                          "number of extra standby nodes, 0 to 16; a standby node immediately "
                          "replaces a lost node (default: 0)"};
const Flag preflight_flag = {"--preflight", "",
                             "before the job starts, test its nodes and links and report outliers; "
                             "if a test fails, the job fails without starting"};
const Flag numa_flag = {"--numa",
                        "MODE",
                        "bind each host with GPUs to the CPUs closest to those GPUs (auto), or let "
                        "it use all CPUs (off) (default: auto)",
                        "",
                        false,
                        "auto off"};
const Flag slurm_flag = {"--slurm", "NAME=VALUE",
                         "sbatch option, e.g. partition, account, qos or constraint; or one of "
                         "muster's own options, address and sm",
                         "", true};
constexpr std::string_view slurm_note =
    "--slurm also accepts address=HOST, the address at which nodes can reach this machine, and "
    "sm=PATH, the path of sm on the nodes.";

/// The five that are typed most have letters: -H and -n as mpirun calls hosts and processes, -i and
/// -o as most programs do, -p for a parameter since -h is help. `sm submit` has the same.
std::vector<Flag> fit_flags() {
  return around_launch_flags(
      {{"--source-dir", "DIR",
        "folder with the code, which muster does not modify (default: the script's folder)"}},
      {{.name = "--input",
        .value = "NAME=DIR",
        .help = "input channel NAME: hosts see the folder DIR at /opt/ml/input/data/NAME",
        .many = true,
        .letter = "-i"},
       {"--image", "NAME",
        "container image for the hosts: a name from sm image ls, or a source like "
        "docker-daemon:NAME"},
       {"--policy", "FILE",
        "signature policy that the image must satisfy: a policy.json in skopeo's format"},
       {"--bind", "PATH[:PATH][:ro|rw]",
        "mount a folder or file of this machine on every host, at the same path or at the second "
        "PATH (default: read-only)",
        "", true},
       hyperparameter_flag,
       text_hyperparameter_flag,
       hyperparameters_flag,
       env_flag,
       env_file_flag,
       {"--metric", "NAME=REGEX", metric_help, "", true},
       {.name = "--output",
        .value = "DIR",
        .help = "new or empty folder for results and logs (default: a folder named after the job)",
        .letter = "-o"},
       {"--overwrite", "", "replace the results of an earlier job in the output folder"},
       {"--checkpoints", "DIR",
        "folder to copy to /opt/ml/checkpoints at the start; new checkpoints are copied back to "
        "this folder"},
       {"--name", "NAME", "job name (default: the script's name and the time)"},
       {"--python", "PATH", "Python interpreter for the script (default: python3 on PATH)"},
       {"--memory", "SIZE",
        "memory limit per host, e.g. 512m or 2g (default: all memory that jobs may use)"},
       {"--cpus", "N", "CPU limit per host, e.g. 2 or 1.5 (default: all CPUs)"},
       {"--gpus", "N", "number of GPUs reserved for each host (default: none)"},
       numa_flag,
       {"--shm-size", "SIZE",
        "size of /dev/shm, e.g. 8g (default: 1g, or half of the host's memory if it has GPUs)"},
       {"--volume-size", "GIB", "disk limit per host in GiB, including inputs (default: no limit)"},
       {"--network", "MODE",
        "network access: nat, none (only the job's hosts) or host (shares this machine's network) "
        "(default: nat)"},
       pip_conf_flag,
       encrypt_flag,
       {"--timeout", "TIME", "stop the job after TIME: 90 (seconds), 10m, 2h (default: 1d)"},
       max_wait_flag,
       hang_after_flag,
       {"--end-hung", "", "if the job hangs, stop it and mark it as Failed; requires --hang-after"},
       {"--grace", "TIME",
        "time from SIGTERM to SIGKILL when the job stops, e.g. 5 (seconds) or 2m (default: 30s)"},
       {"--keep", "",
        "keep the job's folder (journals, logs, settings) for debugging; sm clean --all removes "
        "it"},
       engine_flag,
       slurm_flag,
       retries_flag,
       spares_flag,
       preflight_flag,
       {"--detach", "", "return once the job is running, and print its name and useful commands"},
       {"--raw", "", raw_help},
       utc_flag,
       {"--json", "", "print one JSON object per line instead of text"},
       {"--verbose", "", "also print log lines from muster itself and from sm train"},
       {"--timeline", "", "when the job ends, show how long each phase took, as sm timeline does"},
       {"--print-plan", "", "print the job's specification and exit"},
       print_file_flag});
}

Page fit() {
  return {
      .name = "fit",
      .group = Group::here,
      .brief = "run a training job on this machine",
      .about = "Runs a training job on this machine, with each host in its own container.",
      .operands = {{"SCRIPT",
                    "training program (a path in the source folder) or job file (.yaml or .yml)",
                    false, "FILE"}},
      .rest = Rest::behind_dashes,
      .rest_optional = true,
      .flags = fit_flags(),
      .examples =
          {{"sm fit train.py", "run train.py from this folder on one host"},
           {"sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out",
            "run 6 processes in total under MPI, two on each of 3 hosts"},
           {"sm fit train.py --input train=data/train --hyperparameter epochs=2 --env DEBUG=1",
            "the script reads the data from /opt/ml/input/data/train and gets the arguments "
            "--epochs 2"},
           {"sm fit train.py --bind /mnt/data:/data --bind ~/cache:/cache:rw",
            "mount a data disk read-only and a cache folder read-write"},
           {"sm fit --image team/box:v1 --hosts 2",
            "run the image's ENTRYPOINT on two hosts, with the argument train"},
           {"sm fit train.py --checkpoints ckpt",
            "resume from an earlier job's checkpoints in ckpt"},
           {"sm fit train.py --detach --name run-7 && sm logs -f run-7",
            "the job keeps running after the terminal closes; Ctrl-C stops only sm logs"},
           {"sm fit train.py --engine slurm --hosts 4 --slurm partition=gpu --gpus 8",
            "run on four nodes of a cluster; logs, results and Ctrl-C work as on this machine"},
           {"sm fit train.py --engine slurm --hosts 4 --spares 1",
            "reserve a fifth node to replace one that fails"},
           {"sm fit train.py -- --resume 'last run'",
            "pass the arguments after -- to the script unchanged, after the hyperparameters"},
           {"sm fit job.yaml --hosts 4", "run a job file, but on 4 hosts"}},
      .notes = {"The script runs in the same environment as on SageMaker: SM_* variables and files "
                "under /opt/ml. muster copies results from /opt/ml/model and /opt/ml/output to "
                "folders in the output folder: model/, output/ and, if the job fails, failure/. "
                "Logs are in log/: all.log and one file per host. Without --output, muster creates "
                "the output folder only if the job writes files or runs with --detach.",
                lines_note,
                "--image also accepts an image source, from which muster imports the current image "
                "first: oci:DIR[:TAG], docker-archive:FILE[:NAME], docker-daemon:NAME or "
                "containers-storage:NAME. Without SCRIPT, hosts run the image's own program. "
                "Without --image, hosts use this machine's programs.",
                "With --network nat, hosts can reach the same networks as this machine. --network "
                "host requires a job with only one host. The host shares this machine's network "
                "and can reach services on localhost.",
                "Without py-spy, --hang-after cannot detect ranks that use CPU time but make no "
                "progress.",
                "Preemptions don't count toward --retries, but --retries 0 disables all restarts. "
                "On this machine, use --spares to rehearse the loss of a node.",
                encrypt_note, job_file_note, slurm_note,
                "Ctrl-C stops the job; a second Ctrl-C kills it. To control a job from another "
                "terminal, or a job with --detach, use sm jobs, sm logs, sm describe and sm stop."},
      .exits = {{"0", "the job completed; with --detach: the job is running"},
                {"1",
                 "the job failed; standard error shows which rank or host failed, how it exited, "
                 "and the last lines of its output"},
                {"2",
                 "invalid flag, file or folder, or the job name is in use; nothing was started"},
                {"3",
                 "a requirement is missing (see sm doctor), or muster itself failed, e.g. because "
                 "it could not write a result"},
                {"4", "the job exceeded --timeout and was stopped"},
                {"128 + N",
                 "signal N stopped the job: 130 after Ctrl-C, 143 after SIGTERM, 129 after the "
                 "terminal closed"}},
  };
}

}  // namespace

std::vector<Flag> around_launch_flags(std::vector<Flag> before, const std::vector<Flag>& after) {
  const std::vector<Flag> launch = {
      {.name = "--hosts",
       .value = "N",
       .help = "number of hosts, 1 to 250 (default: 1)",
       .letter = "-H"},
      {.name = "--processes-per-host",
       .value = "N",
       .help = "processes per host, under MPI unless --torchrun is set (default with --torchrun: "
               "one per GPU)",
       .letter = "-n"},
      {"--mpi", "", "run under MPI, even with a single process"},
      {"--torchrun", "", "run torchrun (PyTorch) on each host, connected to the leader"},
      {"--tf", "", "run with TensorFlow's MultiWorkerMirroredStrategy; TF_CONFIG lists all hosts"},
      {"--mxnet", "", "run with MXNet's scheduler and parameter servers"},
      {"--custom-mpi-options", "TEXT", "additional options for mpirun, as one string"}};
  before.insert(before.end(), launch.begin(), launch.end());
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

std::vector<Page> pages_here() {
  return {
      fit(),
      {.name = "doctor",
       .group = Group::here,
       .brief = "check this machine for missing requirements",
       .about = "Checks whether this machine, or a Slurm cluster, has everything that jobs need. "
                "For each requirement, sm doctor shows its purpose and, if it is missing, how to "
                "install it. On this machine, sm doctor also runs a one-host test job, which takes "
                "less than a second.",
       .flags = {{"--python", "PROGRAM",
                  "Python interpreter whose modules are checked (default: python3 on PATH)"},
                 {"--engine", "NAME",
                  "check this machine (local) or the Slurm cluster of this submit host (slurm) "
                  "(default: local)"},
                 slurm_flag,
                 {"--probe", "",
                  "with --engine slurm: also run a short job that checks clocks, disks and "
                  "programs on idle nodes"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm doctor"},
                    {"sm doctor --python ~/venv/bin/python", "check the packages in this venv"},
                    {"sm doctor --engine slurm --slurm partition=gpu --probe"}},
       .notes = {slurm_note},
       .exits = {{"0", "everything that jobs need is available"},
                 {"2", "usage error"},
                 {"3", "a requirement is missing"}}},
      {.name = "clean",
       .group = Group::here,
       .brief = "clean up after jobs that were killed",
       .about = "Removes the networks, mounts and folders that killed jobs left on this machine. "
                "Running jobs are not affected.",
       .flags = {{"--all", "",
                  "also remove folders kept by sm fit --keep, and the records of finished jobs "
                  "that sm jobs lists"},
                 {"--json", "", "print one JSON object"}},
       .examples = {{"sm clean"},
                    {"sm clean --all",
                     "also remove folders kept by --keep, and the records of finished jobs"}},
       .exits =
           {{"0", "cleaned up; nothing is left to remove"},
            {"2", "usage error"},
            {"3",
             "this user is not allowed to create namespaces, or something could not be removed"}}},
  };
}

}  // namespace muster::command
