#include "command/page.h"

namespace muster::command {
namespace {

const Flag print_plan{"--print-plan", "", "print what would run on this host and exit"};
constexpr std::string_view same_line = "Run the same command line on every host of the job.";

constexpr std::string_view hosts_note =
    "Without a platform's files, list the hosts on the command line, the same on each host: "
    "--hosts node1,node2 or node[1-2]. The first host leads. A host finds itself in the list by "
    "its name or address. You can also set MUSTER_HOSTS and MUSTER_JOB_KEY_FILE. A task of srun "
    "detects the nodes of its step.";

std::vector<Exit> operator_exits() {
  return {{"N", "the program's exit code: 0 if it succeeded on all hosts"},
          {"128 + N", "signal N killed the program"},
          {"1", "the program could not be run"},
          {"2", "usage error"}};
}

Page operator_page(Page page) {
  page.group = Group::operators;
  page.rest = Rest::program;
  page.rest_name = "PROGRAM [ARGS]";
  for (const Flag& flag : host_flags()) page.flags.push_back(flag);
  page.flags.push_back(print_plan);
  page.notes.push_back(hosts_note);
  page.exits = operator_exits();
  page.last_wins = true;
  return page;
}

Page mpirun() {
  return operator_page(
      {.name = "mpirun",
       .group = Group::operators,
       .brief = "run one MPI program across all hosts",
       .about = "Runs a program under MPI across all hosts of the job.",
       .flags = {{"--process_per_hosts", "N",
                  "processes per host (default: one per GPU, or one without GPUs)",
                  "--processes-per-host"},
                 {.name = "--num_processes",
                  .value = "N",
                  .help = "processes of the whole job, spread evenly without --process_per_hosts "
                          "(default: all that fit)",
                  .also = "-np",
                  .letter = "-n"},
                 {"--custom_mpi_options", "TEXT", "more options for mpirun, with shell quoting"}},
       .examples = {{"sm mpirun python train.py --epochs 3"},
                    {"sm mpirun --process_per_hosts 3 --custom_mpi_options '-x TF_LOG_LEVEL=10' "
                     "python train.py"},
                    {"sm mpirun --print-plan ./solver input.txt"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py",
                     "run by hand on each of two machines"}},
       .notes = {
           "Run the same command line on every host of the job. The leading host runs mpirun once; "
           "the other hosts take part and wait. All end with the program's exit code. On a single "
           "host, it runs mpirun on this machine.",
           "Custom options are mpirun's own and are added to its command line: -x NAME[=VALUE], "
           "-mca NAME VALUE, --bind-to ... muster rejects options that it sets itself: hosts, "
           "process counts and the launch of daemons (e.g. -mca plm_*). It also rejects programs "
           "that would replace a rank. sm mpirun --help lists the rejected options. With MPICH and "
           "Intel MPI, use mpiexec's options: -genv NAME VALUE, -bind-to ..."}});
}

Page torchrun() {
  Page page = operator_page(
      {.name = "torchrun",
       .group = Group::operators,
       .brief = "run one PyTorch program across all hosts",
       .about = "Runs a PyTorch script across all hosts of the job.",
       .flags = {{"--nproc-per-node", "N",
                  "processes per host (default: one per GPU, or one without GPUs)"},
                 {"--launcher", "HOW",
                  "agent: torchrun on each host (default); direct: muster itself", "", false,
                  "agent direct"}},
       .examples = {{"sm torchrun train.py --epochs 3"},
                    {"sm torchrun --hosts node1,node2 --key-file job.key train.py",
                     "run by hand on each of two machines"},
                    {"sm torchrun --nproc-per-node 4 --max-restarts 2 train.py"},
                    {"sm torchrun --launcher direct --nproc-per-node 2 train.py"}},
       .notes = {"Run the same command line on every host of the job. Each host runs one torchrun "
                 "agent; the agents connect to the leading host, on a free port. Put torchrun's "
                 "own options before the script: --max-restarts 2. If a host is lost, the agents "
                 "on the other hosts end. With --launcher direct there is no agent: muster starts, "
                 "tags and watches each rank."}});
  page.passes_flags_on = true;
  page.rest_name = "SCRIPT [ARGS]";
  return page;
}

Page deepspeed() {
  Page page = operator_page(
      {.name = "deepspeed",
       .group = Group::operators,
       .brief = "run one DeepSpeed program across all hosts",
       .about = "Runs a DeepSpeed script across all hosts of the job.",
       .flags = {{"--num_gpus", "N",
                  "processes per host (default: one per GPU, or one without GPUs)",
                  "--num_accelerators"},
                 {"--master_port", "N",
                  "rendezvous port on the leading host (default: a free port)"},
                 {"--module", "", "the script is a Python module, as for python -m"},
                 {"--no_python", "", "the script is a program: start it without Python"},
                 {"--no_local_rank", "", "do not pass --local_rank to the script"},
                 {"--bind_cores_to_rank", "", "bind each rank to its own CPU cores"},
                 {"--bind_core_list", "LIST", "the cores to distribute, e.g. 1,3-5"},
                 {"--enable_each_rank_log", "DIR",
                  "write the output of each rank to a file in this folder"},
                 {"--launcher", "HOW",
                  "agent: DeepSpeed's node launcher (default); direct: muster itself", "", false,
                  "agent direct"}},
       .examples = {{"sm deepspeed train.py --deepspeed_config ds.json"},
                    {"sm deepspeed --num_gpus 4 --module pkg.train"},
                    {"sm deepspeed --launcher direct --num_gpus 2 train.py"}},
       .notes = {"Run the same command line on every host of the job. DeepSpeed's node launcher "
                 "runs on each host; the launchers connect to the leading host. Hostfile, pdsh and "
                 "ssh are not used: their flags are rejected by name. With --launcher direct there "
                 "is no node launcher: muster starts, tags and watches each rank."}});
  page.passes_flags_on = true;
  page.rest_name = "SCRIPT [ARGS]";
  return page;
}

Page tf_training() {
  return operator_page(
      {.name = "tf run-distributed-training",
       .group = Group::operators,
       .brief = "TensorFlow workers and parameter servers",
       .about = "Runs a TensorFlow trainer with parameter servers.",
       .flags = {{"--num-workers", "N", "workers across all hosts (default: one per host)"},
                 {"--num-parameter-servers", "N",
                  "parameter servers across all hosts (default: 1)"},
                 {"--chief", "", "add a chief to the workers"},
                 {"--evaluator", "", "add an evaluator"},
                 {"--config-only", "",
                  "pass no flags to the trainer, and do not run it on parameter servers"}},
       .examples =
           {{"sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 "
             "trainer.py --steps 100"},
            {"sm tf run-distributed-training --chief --num-parameter-servers 1 trainer.py"}},
       .notes = {"Run the same command line on every host of the job. Workers are placed from the "
                 "first host on, parameter servers from the last host back; a host may run "
                 "several. The trainer is passed --ps_hosts, --worker_hosts, --job_name and "
                 "--task_index, and TF_CONFIG. Parameter servers are stopped when chief and "
                 "workers have ended. With --config-only, only TF_CONFIG is set, and muster runs "
                 "the parameter servers itself: only chief and workers run the trainer."}});
}

Page tf_multi_worker() {
  return operator_page(
      {.name = "tf multi-worker",
       .group = Group::operators,
       .brief = "run only TensorFlow workers (MultiWorkerMirroredStrategy)",
       .about = "Runs a TensorFlow trainer on several workers.",
       .flags = {{"--num-workers", "N", "workers across all hosts (default: one per host)"}},
       .examples = {{"sm tf multi-worker train.py"},
                    {"sm tf multi-worker --num-workers 4 train.py"}},
       .notes = {"Run the same command line on every host of the job. The trainer runs on every "
                 "host with TF_CONFIG in the format that MultiWorkerMirroredStrategy reads."}});
}

Page mxnet_run() {
  return operator_page(
      {.name = "mxnet run",
       .group = Group::operators,
       .brief = "MXNet workers and servers",
       .about = "Runs an MXNet program with its parameter servers.",
       .flags = {{"--num-servers", "N", "servers across all hosts (default: one per host)"},
                 {"--num-workers", "N", "workers across all hosts (default: one per host)"}},
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"},
                    {"sm mxnet run --num-servers 1 --num-workers 4 python train.py"}},
       .notes = {
           "Run the same command line on every host of the job. A scheduler runs on the leading "
           "host, servers and workers on all hosts. DMLC_* variables define the role of each "
           "process. Scheduler and servers are stopped when the workers have ended."}});
}

Page run() {
  return operator_page({.name = "run",
                        .group = Group::operators,
                        .brief = "run a command once on each host",
                        .about = "Runs a command once on every host, as one job.",
                        .examples = {{"sm run -- ./prepare.sh"},
                                     {"sm run -- python check_network.py"},
                                     {"sm run --hosts node[1-3] --key-file job.key -- hostname",
                                      "run by hand run on each of three machines"}},
                        .notes = {"Run the same command line on every host of the job; the command "
                                  "runs once on each host. If one fails, all end."}});
}

Page preflight() {
  std::vector<Flag> flags = host_flags();
  flags.pop_back();
  flags.push_back({"--json", "", "print all results as one JSON object on the leading host"});
  return {
      .name = "preflight",
      .group = Group::operators,
      .brief = "compare the hosts and measure their links, without running a job",
      .about =
          "Compares the hosts of a job and measures the links between them before the job starts: "
          "names, ports, clocks, free disk and memory, versions, GPUs, MTU, round-trip times and "
          "bandwidth. The leading host names the outlier.",
      .flags = std::move(flags),
      .examples = {{"sm preflight --hosts node[1-3] --key-file job.key",
                    "run on each of three machines"},
                   {"srun --ntasks-per-node 1 sm preflight",
                    "run on the nodes of a Slurm job, with MUSTER_JOB_KEY_FILE"}},
      .notes = {"Run the same command line on every host of the job. The page \"Several machines\" "
                "lists what is compared, the thresholds, and how a job runs this check itself."},
      .exits =
          {{"0", "the hosts can work together; warnings are printed"},
           {"1",
            "the hosts cannot work together, or some did not join; the last line has the reason"},
           {"2", "usage error"},
           {"128 + N", "stopped by signal N"}},
      .last_wins = true};
}

}  // namespace

std::vector<Flag> host_flags() {
  return {{"--hosts", "LIST", "the job's hosts, if no platform's file lists them: a,b,node[1-4]"},
          {"--host", "NAME",
           "which host of the list this machine is (default: found by name or address)"},
          {"--key-file", "FILE", "the job's key, the same on all hosts; sm key job creates one"},
          {"--interface", "NAME",
           "network interface for traffic to the other hosts (default: that of the route to them)"},
          {"--preflight", "", "first measure the links between the hosts and name the outlier"}};
}

std::vector<Page> pages_operators() {
  return {
      mpirun(),
      torchrun(),
      deepspeed(),
      {.name = "tf",
       .group = Group::operators,
       .brief = "run TensorFlow workers and parameter servers",
       .about = "Runs a TensorFlow trainer across all hosts of the job.",
       .examples = {{"sm tf multi-worker train.py"}},
       .notes = {same_line},
       .exits = operator_exits()},
      tf_training(),
      tf_multi_worker(),
      {.name = "mxnet",
       .group = Group::operators,
       .brief = "run MXNet workers and servers",
       .about = "Runs an MXNet program across all hosts of the job.",
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"}},
       .notes = {same_line},
       .exits = operator_exits()},
      mxnet_run(),
      run(),
      preflight(),
  };
}

}  // namespace muster::command
