#include "command/page.h"

namespace muster::command {
namespace {

const Flag print_plan{"--print-plan", "", "print what would run on this host, and exit"};
constexpr std::string_view same_line = "Run the same command line on every host in the job.";

constexpr std::string_view hosts_note =
    "If the hosts are not listed in resourceconfig.json, pass the same list on every host: --hosts "
    "node1,node2 or node[1-2]. The first host is the leader. Each host identifies its own entry in "
    "the list by host name or address. MUSTER_HOSTS and MUSTER_JOB_KEY_FILE have the same effect "
    "as --hosts and --key-file. Under srun, muster uses the nodes of the job step.";

std::vector<Exit> operator_exits() {
  return {{"N", "the program's exit code; 0 if it succeeded on all hosts"},
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
       .brief = "run an MPI program across all hosts",
       .about = "Runs a program under MPI across all hosts in the job.",
       .flags = {{"--process_per_hosts", "N",
                  "processes per host (default: one per GPU, or one without GPUs)",
                  "--processes-per-host"},
                 {.name = "--num_processes",
                  .value = "N",
                  .help = "total number of processes, spread evenly over the hosts unless "
                          "--process_per_hosts is set (default: as many as fit)",
                  .also = "-np",
                  .letter = "-n"},
                 {"--custom_mpi_options", "TEXT",
                  "additional options for mpirun, quoted as in a shell"},
                 {"--numa", "", "run each rank on the CPUs next to its GPU"}},
       .examples = {{"sm mpirun python train.py --epochs 3"},
                    {"sm mpirun --process_per_hosts 3 --custom_mpi_options '-x TF_LOG_LEVEL=10' "
                     "python train.py"},
                    {"sm mpirun --print-plan ./solver input.txt"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py",
                     "run the same command by hand on each of two machines"}},
       .notes = {
           "Run the same command line on every host in the job. The leader runs mpirun once; "
           "the other hosts join and wait. Every host exits with the program's exit code. On "
           "a single host, sm mpirun runs mpirun on that host.",
           "muster passes the options in --custom_mpi_options to mpirun, e.g. -x NAME[=VALUE], "
           "-mca NAME VALUE or --bind-to core. With MPICH and Intel MPI, use the options of "
           "mpiexec, e.g. -genv NAME VALUE or -bind-to core.",
           "muster rejects options that it sets itself, e.g. host lists and process counts. It "
           "also rejects options that would run another program as a rank. sm mpirun --help "
           "lists the accepted and the rejected options."}});
}

Page torchrun() {
  Page page = operator_page(
      {.name = "torchrun",
       .group = Group::operators,
       .brief = "run a PyTorch script across all hosts",
       .about = "Runs a PyTorch script across all hosts in the job.",
       .flags = {{"--nproc-per-node", "N",
                  "processes per host (default: one per GPU, or one without GPUs)"},
                 {"--launcher", "HOW",
                  "start ranks with torchrun on each host (agent) or directly from muster (direct) "
                  "(default: agent)",
                  "", false, "agent direct"}},
       .examples = {{"sm torchrun train.py --epochs 3"},
                    {"sm torchrun --hosts node1,node2 --key-file job.key train.py",
                     "run the same command by hand on each of two machines"},
                    {"sm torchrun --nproc-per-node 4 --max-restarts 2 train.py"},
                    {"sm torchrun --launcher direct --nproc-per-node 2 train.py"}},
       .notes = {"Run the same command line on every host in the job. Each host runs one torchrun "
                 "agent, and the agents connect to a free port on the leader. Put torchrun's own "
                 "options before the script, e.g. --max-restarts 2. If a host is lost, the agents "
                 "on the other hosts exit. With --launcher direct, there is no agent: muster "
                 "starts and watches each rank and tags its output."}});
  page.passes_flags_on = true;
  page.rest_name = "SCRIPT [ARGS]";
  return page;
}

Page deepspeed() {
  Page page = operator_page(
      {.name = "deepspeed",
       .group = Group::operators,
       .brief = "run a DeepSpeed script across all hosts",
       .about = "Runs a DeepSpeed script across all hosts in the job.",
       .flags = {{"--num_gpus", "N",
                  "processes per host (default: one per GPU, or one without GPUs)",
                  "--num_accelerators"},
                 {"--master_port", "N", "rendezvous port on the leader (default: a free port)"},
                 {"--module", "", "run the script as a Python module, like python -m"},
                 {"--no_python", "", "run the script directly, without Python"},
                 {"--no_local_rank", "", "do not pass --local_rank to the script"},
                 {"--bind_cores_to_rank", "", "bind each rank to its own CPU cores"},
                 {"--bind_core_list", "LIST",
                  "CPU cores to distribute among the ranks, e.g. 1,3-5"},
                 {"--enable_each_rank_log", "DIR",
                  "write the output of each rank to a file in this folder"},
                 {"--launcher", "HOW",
                  "start ranks with DeepSpeed's node launcher (agent) or from muster (direct) "
                  "(default: agent)",
                  "", false, "agent direct"}},
       .examples = {{"sm deepspeed train.py --deepspeed_config ds.json"},
                    {"sm deepspeed --num_gpus 4 --module pkg.train"},
                    {"sm deepspeed --launcher direct --num_gpus 2 train.py"}},
       .notes = {
           "Run the same command line on every host in the job. DeepSpeed's node launcher runs on "
           "each host, and the launchers connect to the leader. Hostfiles, pdsh and ssh are not "
           "used, and muster rejects the flags that configure them. With --launcher direct, there "
           "is no node launcher: muster starts and watches each rank and tags its output."}});
  page.passes_flags_on = true;
  page.rest_name = "SCRIPT [ARGS]";
  return page;
}

Page tf_training() {
  return operator_page(
      {.name = "tf run-distributed-training",
       .group = Group::operators,
       .brief = "run TensorFlow workers and parameter servers",
       .about = "Runs a TensorFlow training script with parameter servers.",
       .flags = {{"--num-workers", "N",
                  "total number of workers across all hosts (default: one per host)"},
                 {"--num-parameter-servers", "N",
                  "total number of parameter servers across all hosts (default: 1)"},
                 {"--chief", "", "run a chief in addition to the workers"},
                 {"--evaluator", "", "also run an evaluator"},
                 {"--config-only", "",
                  "pass no flags to the script, and do not run it on the parameter servers"}},
       .examples =
           {{"sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 "
             "trainer.py --steps 100"},
            {"sm tf run-distributed-training --chief --num-parameter-servers 1 trainer.py"}},
       .notes = {
           "Run the same command line on every host in the job. Workers are assigned to hosts from "
           "the first host onward, and parameter servers from the last host backward. One host can "
           "run several tasks. The script is passed --ps_hosts, --worker_hosts, --job_name and "
           "--task_index, and TF_CONFIG is set. When the chief and the workers have exited, muster "
           "stops the parameter servers. With --config-only, muster sets only TF_CONFIG and runs "
           "the parameter servers itself, so only the chief and the workers run the script."}});
}

Page tf_multi_worker() {
  return operator_page(
      {.name = "tf multi-worker",
       .group = Group::operators,
       .brief = "run only TensorFlow workers (MultiWorkerMirroredStrategy)",
       .about = "Runs a TensorFlow training script on several workers.",
       .flags = {{"--num-workers", "N",
                  "total number of workers across all hosts (default: one per host)"}},
       .examples = {{"sm tf multi-worker train.py"},
                    {"sm tf multi-worker --num-workers 4 train.py"}},
       .notes = {"Run the same command line on every host in the job. The script runs on every "
                 "host, with TF_CONFIG in the format that MultiWorkerMirroredStrategy reads."}});
}

Page mxnet_run() {
  return operator_page(
      {.name = "mxnet run",
       .group = Group::operators,
       .brief = "run MXNet workers and parameter servers",
       .about = "Runs an MXNet program with its parameter servers.",
       .flags = {{"--num-servers", "N",
                  "total number of parameter servers across all hosts (default: one per host)"},
                 {"--num-workers", "N",
                  "total number of workers across all hosts (default: one per host)"}},
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"},
                    {"sm mxnet run --num-servers 1 --num-workers 4 python train.py"}},
       .notes = {
           "Run the same command line on every host in the job. The scheduler runs on the leader; "
           "servers and workers run on all hosts. DMLC_* variables set the role of each process. "
           "When the workers have exited, muster stops the scheduler and the servers."}});
}

Page run() {
  return operator_page(
      {.name = "run",
       .group = Group::operators,
       .brief = "run a command once on each host",
       .about = "Runs a command once on every host, as one job.",
       .examples = {{"sm run -- ./prepare.sh"},
                    {"sm run -- python check_network.py"},
                    {"sm run --hosts node[1-3] --key-file job.key -- hostname",
                     "run the same command by hand on each of three machines"}},
       .notes = {"Run the same command line on every host in the job. The command runs once on "
                 "each host. If it fails on one host, muster stops it on all the others."}});
}

Page preflight() {
  std::vector<Flag> flags = host_flags();
  flags.pop_back();
  flags.push_back({"--json", "", "print all results as one JSON object, on the leader"});
  return {
      .name = "preflight",
      .group = Group::operators,
      .brief = "check the hosts and the links between them, without running a job",
      .about =
          "Compares the hosts of a job and measures the links between them. sm preflight checks "
          "names, ports, clocks, free disk space and memory, versions, GPUs, MTU, round-trip times "
          "and bandwidth. The leader reports outliers.",
      .flags = std::move(flags),
      .examples = {{"sm preflight --hosts node[1-3] --key-file job.key",
                    "run the same command by hand on each of three machines"},
                   {"srun --ntasks-per-node 1 sm preflight",
                    "run on the nodes of a Slurm job, with MUSTER_JOB_KEY_FILE set"}},
      .notes = {"Run the same command line on every host in the job. The documentation page "
                "\"Several machines\" lists the checks and thresholds, and explains how a job can "
                "run the same checks."},
      .exits = {{"0", "the hosts can work together; there may be warnings"},
                {"1",
                 "the hosts cannot work together, or some hosts did not join; the last line shows "
                 "the reason"},
                {"2", "usage error"},
                {"128 + N", "stopped by signal N"}},
      .last_wins = true};
}

}  // namespace

std::vector<Flag> host_flags() {
  return {
      {"--hosts", "LIST",
       "the job's hosts, e.g. a,b,node[1-4] (env MUSTER_HOSTS; default: from resourceconfig.json)"},
      {"--host", "NAME",
       "this machine's entry in --hosts (env MUSTER_HOST; default: found by name or address)"},
      {"--key-file", "FILE",
       "the job's key, the same on all hosts; created by sm key job (env MUSTER_JOB_KEY_FILE)"},
      {"--interface", "NAME",
       "network interface for traffic between hosts (env MUSTER_INTERFACE; default: automatic)"},
      {"--preflight", "",
       "before the program starts, check the hosts and the links between them, and report "
       "outliers"}};
}

std::vector<Page> pages_operators() {
  return {
      mpirun(),
      torchrun(),
      deepspeed(),
      {.name = "tf",
       .group = Group::operators,
       .brief = "run TensorFlow workers and parameter servers",
       .about = "Runs a TensorFlow training script across all hosts in the job.",
       .examples = {{"sm tf multi-worker train.py"}},
       .notes = {same_line},
       .exits = operator_exits()},
      tf_training(),
      tf_multi_worker(),
      {.name = "mxnet",
       .group = Group::operators,
       .brief = "run MXNet workers and parameter servers",
       .about = "Runs an MXNet program across all hosts in the job.",
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"}},
       .notes = {same_line},
       .exits = operator_exits()},
      mxnet_run(),
      run(),
      preflight(),
  };
}

}  // namespace muster::command
