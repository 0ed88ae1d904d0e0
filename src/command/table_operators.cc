#include "command/page.h"

namespace muster::command {
namespace {

const Flag print_plan{"--print-plan", "", "print what would run on this host and exit"};
constexpr std::string_view same_line = "Every host of the job runs the same line.";

constexpr std::string_view hosts_note =
    "Without a platform's files the hosts stand on the line, the same on each: --hosts "
    "node1,node2 or node[1-2]; the first leads. A host finds itself in the list by its name or "
    "address. MUSTER_HOSTS and MUSTER_JOB_KEY_FILE say it, too; a task of srun finds the nodes of "
    "its step by itself.";

std::vector<Exit> operator_exits() {
  return {{"N", "the program's exit code: 0 if it ended well on all hosts"},
          {"128 + N", "signal N killed the program"},
          {"1", "the program could not be run"},
          {"2", "what was given is wrong"}};
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
       .brief = "run one MPI program over all of them",
       .about = "Runs a program under MPI over all hosts of the job.",
       .flags = {{"--process_per_hosts", "N",
                  "processes on each host; default: one for each GPU, one without",
                  "--processes-per-host"},
                 {.name = "--num_processes",
                  .value = "N",
                  .help = "processes of the whole job, spread evenly unless --process_per_hosts "
                          "says how; default: as many as the hosts hold",
                  .also = "-np",
                  .letter = "-n"},
                 {"--custom_mpi_options", "TEXT",
                  "more options for mpirun, quoted as for a shell"}},
       .examples = {{"sm mpirun python train.py --epochs 3"},
                    {"sm mpirun --process_per_hosts 3 --custom_mpi_options '-x TF_LOG_LEVEL=10' "
                     "python train.py"},
                    {"sm mpirun --print-plan ./solver input.txt"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py",
                     "on each of two machines, by hand"}},
       .notes = {"Every host of the job runs the same line. The leading host runs mpirun once, the "
                 "others take part and wait; all end as the program does. Standing alone it is "
                 "mpirun on this machine.",
                 "Custom options are mpirun's own, added to its line: -x NAME[=VALUE], -mca NAME "
                 "VALUE, --bind-to ... Those that the job rests on are refused by name: its hosts "
                 "and counts, the launch of daemons (as by -mca plm_*), what would run in place of "
                 "a rank; sm mpirun --help lists them. With MPICH and Intel MPI they are "
                 "mpiexec's: -genv NAME VALUE, -bind-to ..."}});
}

Page torchrun() {
  Page page = operator_page(
      {.name = "torchrun",
       .group = Group::operators,
       .brief = "run one PyTorch program over all of them",
       .about = "Runs a PyTorch script over all hosts of the job.",
       .flags = {{"--nproc-per-node", "N",
                  "processes on each host; default: one for each GPU, one without"},
                 {"--launcher", "HOW",
                  "agent: torchrun on each host (default); direct: muster itself", "", false,
                  "agent direct"}},
       .examples = {{"sm torchrun train.py --epochs 3"},
                    {"sm torchrun --hosts node1,node2 --key-file job.key train.py",
                     "on each of two machines, by hand"},
                    {"sm torchrun --nproc-per-node 4 --max-restarts 2 train.py"},
                    {"sm torchrun --launcher direct --nproc-per-node 2 train.py"}},
       .notes = {"Every host of the job runs the same line. One torchrun agent runs on each host; "
                 "they meet at the leading host, on a port that is free there. Options of "
                 "torchrun's own stand before the script: --max-restarts 2. A lost host ends the "
                 "others' agents. With --launcher direct there is no agent: the ranks are started, "
                 "tagged and watched one by one."}});
  page.passes_flags_on = true;
  page.rest_name = "SCRIPT [ARGS]";
  return page;
}

Page deepspeed() {
  Page page = operator_page(
      {.name = "deepspeed",
       .group = Group::operators,
       .brief = "run one DeepSpeed program over all of them",
       .about = "Runs a DeepSpeed script over all hosts of the job.",
       .flags = {{"--num_gpus", "N",
                  "processes on each host; default: one for each GPU, one without",
                  "--num_accelerators"},
                 {"--master_port", "N",
                  "port of the leading host on which the ranks meet; default: a free one"},
                 {"--module", "", "the script is a Python module, as for python -m"},
                 {"--no_python", "", "the script is a program, started as it is"},
                 {"--no_local_rank", "", "the script gets no argument --local_rank"},
                 {"--bind_cores_to_rank", "", "each rank gets processor cores of its own"},
                 {"--bind_core_list", "LIST", "these cores are shared out: 1,3-5"},
                 {"--enable_each_rank_log", "DIR", "a file there for each rank's output"},
                 {"--launcher", "HOW",
                  "agent: DeepSpeed's node launcher (default); direct: muster itself", "", false,
                  "agent direct"}},
       .examples = {{"sm deepspeed train.py --deepspeed_config ds.json"},
                    {"sm deepspeed --num_gpus 4 --module pkg.train"},
                    {"sm deepspeed --launcher direct --num_gpus 2 train.py"}},
       .notes = {"Every host of the job runs the same line. DeepSpeed's node launcher runs on each "
                 "host; they meet at the leading host. There is no hostfile, no pdsh and no ssh: "
                 "flags about them are refused by name. With --launcher direct there is no node "
                 "launcher: the ranks are started, tagged and watched one by one."}});
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
       .flags = {{"--num-workers", "N", "workers over all hosts; default: one on each"},
                 {"--num-parameter-servers", "N", "parameter servers over all hosts; default: 1"},
                 {"--chief", "", "a chief beside the workers"},
                 {"--evaluator", "", "an evaluator"},
                 {"--config-only", "", "no flags for the trainer, and none on parameter servers"}},
       .examples =
           {{"sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 "
             "trainer.py --steps 100"},
            {"sm tf run-distributed-training --chief --num-parameter-servers 1 trainer.py"}},
       .notes = {
           "Every host of the job runs the same line. Workers are placed from the first host on, "
           "parameter servers from the last host back; a host may hold several. The trainer gets "
           "--ps_hosts, --worker_hosts, --job_name and --task_index, and TF_CONFIG. Parameter "
           "servers are ended when chief and workers have. With --config-only there is TF_CONFIG "
           "alone, and parameter servers serve by themselves: chief and workers run the trainer "
           "to its end."}});
}

Page tf_multi_worker() {
  return operator_page(
      {.name = "tf multi-worker",
       .group = Group::operators,
       .brief = "TensorFlow workers alone (MultiWorkerMirroredStrategy)",
       .about = "Runs a TensorFlow trainer on several workers.",
       .flags = {{"--num-workers", "N", "workers over all hosts; default: one on each"}},
       .examples = {{"sm tf multi-worker train.py"},
                    {"sm tf multi-worker --num-workers 4 train.py"}},
       .notes = {"Every host of the job runs the same line. The trainer runs on every host with "
                 "TF_CONFIG, as MultiWorkerMirroredStrategy reads it."}});
}

Page mxnet_run() {
  return operator_page(
      {.name = "mxnet run",
       .group = Group::operators,
       .brief = "MXNet workers and servers",
       .about = "Runs an MXNet program with its parameter servers.",
       .flags = {{"--num-servers", "N", "servers over all hosts; default: one on each"},
                 {"--num-workers", "N", "workers over all hosts; default: one on each"}},
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"},
                    {"sm mxnet run --num-servers 1 --num-workers 4 python train.py"}},
       .notes = {"Every host of the job runs the same line. A scheduler runs on the leading host, "
                 "servers and workers on all of them; each finds its part in DMLC_*. Scheduler and "
                 "servers end when the workers have."}});
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
                     "on each of three machines, by hand"}},
       .notes = {"Every host of the job runs the same line; the command runs once on each. When "
                 "one fails, all end."}});
}

Page preflight() {
  std::vector<Flag> flags = host_flags();
  flags.pop_back();
  flags.push_back({"--json", "", "on the leading host, all that was found as one JSON object"});
  return {.name = "preflight",
          .group = Group::operators,
          .brief = "compare the hosts and measure the ways between them, and run nothing",
          .about =
              "Compares the hosts of a job and measures the ways between them, before a job "
              "needs them: names, ports, clocks, free disk and memory, versions, GPUs, MTU, "
              "round trips and bandwidth. The leading host names the odd one.",
          .flags = std::move(flags),
          .examples = {{"sm preflight --hosts node[1-3] --key-file job.key",
                        "on each of three machines"},
                       {"srun --ntasks-per-node 1 sm preflight",
                        "on the nodes of a Slurm job, with MUSTER_JOB_KEY_FILE"}},
          .notes = {"Every host of the job runs the same line. What is compared, from where on a "
                    "difference is told, and how a job does this by itself: the page Several "
                    "machines."},
          .exits = {{"0", "the hosts can work together; warnings are told"},
                    {"1", "they can't, or some did not come: the last line says why"},
                    {"2", "what was given is wrong"},
                    {"128 + N", "it was stopped by signal N"}},
          .last_wins = true};
}

}  // namespace

std::vector<Flag> host_flags() {
  return {
      {"--hosts", "LIST", "the job's hosts, where no platform's file names them: a,b,node[1-4]"},
      {"--host", "NAME", "which of them this machine is; default: found by name or address"},
      {"--key-file", "FILE", "the job's key, the same on all hosts: sm key job makes one"},
      {"--interface", "NAME",
       "network interface that leads to the other hosts; default: found by the route"},
      {"--preflight", "", "measure the ways between the hosts first, and name the odd one"}};
}

std::vector<Page> pages_operators() {
  return {
      mpirun(),
      torchrun(),
      deepspeed(),
      {.name = "tf",
       .group = Group::operators,
       .brief = "run TensorFlow workers and parameter servers",
       .about = "Runs a TensorFlow trainer over all hosts of the job.",
       .examples = {{"sm tf multi-worker train.py"}},
       .notes = {same_line},
       .exits = operator_exits()},
      tf_training(),
      tf_multi_worker(),
      {.name = "mxnet",
       .group = Group::operators,
       .brief = "run MXNet workers and servers",
       .about = "Runs an MXNet program over all hosts of the job.",
       .examples = {{"sm mxnet run python train.py --kvstore dist_sync"}},
       .notes = {same_line},
       .exits = operator_exits()},
      mxnet_run(),
      run(),
      preflight(),
  };
}

}  // namespace muster::command
