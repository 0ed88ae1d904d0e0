#include "command/page.h"

namespace muster::command {
namespace {

Page train() {
  Page page = {
      .name = "train",
      .group = Group::container,
      .brief = "the entry point of a training container",
      .about =
          "The entry point of a training container: reads the job from /opt/ml (or "
          "SAGEMAKER_BASE_DIR), connects its hosts, runs the script on them and reports how it "
          "ended. Every host runs the same command.",
      // SageMaker starts containers as `IMAGE train`: the word may stand there again.
      .operands = {{"train", "ignored: SageMaker passes this word to a container", false, "", "",
                    true}},
      .flags =
          {{"--print-plan", "", "print what would run on this host and exit"},
           {"--port", "PORT",
            "port of the roll call on the leading host (MUSTER_ROLLCALL_PORT, 9730)"},
           {"--join-deadline", "SECONDS",
            "how long to wait for the other hosts (MUSTER_JOIN_DEADLINE, 900)"},
           {"--heartbeat", "SECONDS", "time between heartbeats (MUSTER_HEARTBEAT, 1)"},
           {"--lost-after", "SECONDS",
            "time without a heartbeat until a host is lost (MUSTER_LOST_AFTER, 5)"},
           {"--grace", "SECONDS",
            "time from SIGTERM to SIGKILL on a stop request (MUSTER_STOP_DEADLINE, 30)"},
           {"--failure-grace", "SECONDS",
            "time from SIGTERM to SIGKILL after another process failed (MUSTER_FAILURE_GRACE, 1)"}},
      .examples = {{"train", "in a container: run the job in /opt/ml"},
                   {"SAGEMAKER_BASE_DIR=/tmp/job train --print-plan"}},
      .notes = {"The program name `train` runs this command: train is the same as sm train."},
      .exits = {{"0", "the job succeeded"},
                {"1",
                 "the job failed; output/failure has the reason; a framework's module uses its own "
                 "exit codes"},
                {"2", "usage error"},
                {"128 + N", "stopped by signal N"}},
      .last_wins = true,
  };
  const std::vector<Flag> hosts = host_flags();
  page.flags.insert(page.flags.begin() + 1, hosts.begin(), hosts.end());
  return page;
}

Page env() {
  return {
      .name = "env",
      .group = Group::container,
      .brief = "print the training environment of the job in /opt/ml",
      .about =
          "Prints the environment of the training script of the job in /opt/ml (or "
          "SAGEMAKER_BASE_DIR): every SM_* variable, as sagemaker-training sets them. With "
          "--client, it needs no job: it prints shell commands that make boto3, the AWS CLI and "
          "SageMaker's SDKs use the muster server in the AWS_* variables.",
      .flags = {{"--json", "", "print one JSON object"},
                {"--shell", "", "print commands for a POSIX shell"},
                {"--properties", "",
                 "print one JSON object: the properties of sagemaker_training's Environment"},
                {"--to-env-vars", "", "print one JSON object: the result of its to_env_vars()"},
                {"--to-cmd-args", "",
                 "print a JSON list: the result of its to_cmd_args(), the script's arguments"},
                {"--stdin", "",
                 "read resource_config, input_data_config and hyperparameters from standard input"},
                {"--invocation", "",
                 "print the log lines before a program starts, with secrets masked; reads standard "
                 "input"},
                {"--client", "", "print the settings that AWS clients need for a muster server"},
                {"--write", "FILE",
                 "also write the config file that SageMaker's SDKs need, and export its path"},
                {"--bucket", "NAME", "name of the default bucket (sagemaker-REGION-000000000000)"},
                {"--notebook", "",
                 "also write /opt/ml/metadata/resource-metadata.json, for get_execution_role() "
                 "without a session"}},
      .examples = {{"eval \"$(sm env --shell)\"", "set the job's variables in this shell"},
                   {"eval \"$(sm env --client)\"", "for boto3 and the AWS CLI"},
                   {"eval \"$(sm env --client --write ~/muster-sagemaker.yaml)\"",
                    "also for SageMaker's SDKs"}},
      .notes = {"--stdin reads {\"resource_config\": ..., \"input_data_config\": ..., "
                "\"hyperparameters\": ...}; each member present replaces its file.",
                "--invocation reads {\"variables\": {NAME: TEXT, ...}, \"command\": [WORD, ...]}.",
                "Without the file that --write writes, SageMaker's SDKs ask AWS itself for the "
                "name of their "
                "default bucket. With --notebook, get_execution_role() without a session reads the "
                "role from the file, as on SageMaker's notebook machines."},
      .exits = {{"0", "success"},
                {"1", "the job cannot be read, or a file cannot be written"},
                {"2", "usage error"}},
      .last_wins = true,
      .usage = {"[--json | --shell]", "--properties | --to-env-vars | --to-cmd-args [--stdin]",
                "--invocation", "--client [--write FILE] [--bucket NAME] [--notebook]"},
  };
}

const std::vector<Exit> toolkit_exits = {
    {"0", "success"}, {"1", "failed; one line has the reason"}, {"2", "usage error"}};

Page toolkit(std::string_view name, std::string_view brief, std::string_view about,
             std::vector<Operand> operands, Example example) {
  return {.name = name,
          .group = Group::container,
          .brief = brief,
          .about = about,
          .operands = std::move(operands),
          .examples = {example},
          .exits = toolkit_exits};
}

Page toolkit_run() {
  return {
      .name = "toolkit run",
      .group = Group::container,
      .brief = "run an entry point from the code folder",
      .about =
          "Runs an entry point from the code folder, as configured by the job's hyperparameters or "
          "these flags.",
      .rest = Rest::behind_dashes,
      .rest_name = "ENTRY_POINT [ARGS]",
      .flags = {{"--runner", "RUNNER",
                 "process, mpi, smdataparallel, torch_distributed, deepspeed or pytorch_xla", "",
                 false, "process mpi smdataparallel torch_distributed deepspeed pytorch_xla"},
                {"--option", "NAME=VALUE",
                 "set an option of the runner, by the name of its hyperparameter", "", true},
                {"--python", "PATH", "interpreter for Python scripts"},
                {"--report", "FD", "an open file descriptor that receives the result as JSON"}},
      .examples = {{"sm toolkit run --runner mpi -- train.py --epochs 3"}},
      .exits = {{"N", "the program's exit code"},
                {"1", "the program could not be run"},
                {"2", "usage error"}},
      .last_wins = true,
  };
}

}  // namespace

std::vector<Page> pages_container() {
  return {
      train(),
      env(),
      toolkit("toolkit", "commands for the Python packages",
              "Commands that the Python packages sagemaker_training and sagemaker_containers call.",
              {}, {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit(
          "toolkit fetch", "copy or download code to a folder",
          "Copies code to a folder, from a folder, a tar.gz, or an s3://BUCKET/KEY of a tar.gz. "
          "Does nothing if the folder is not empty.",
          {{"URI", "location of the code", true, "FILE"}, {"FOLDER", "target path", true, "DIR"}},
          {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit("toolkit download", "download one object", "Downloads one object from S3.",
              {{"S3URL", "s3://BUCKET/KEY"}, {"FILE", "target path", true, "FILE"}},
              {"sm toolkit download s3://bucket/model.bin model.bin"}),
      toolkit("toolkit upload", "upload one object", "Uploads one object to S3.",
              {{"FILE", "file to upload", true, "FILE"}, {"S3URL", "s3://BUCKET/KEY"}},
              {"sm toolkit upload model.bin s3://bucket/model.bin"}),
      toolkit("toolkit sync", "upload new files in output/intermediate",
              "Uploads new files in output/intermediate to sagemaker_s3_output "
              "(SAGEMAKER_S3_OUTPUT) until standard input ends. Prints \"ready\" first.",
              {}, {"sm toolkit sync"}),
      toolkit("toolkit codeartifact-index", "print the package index URL of CA_REPOSITORY_ARN",
              "Prints the package index URL of CA_REPOSITORY_ARN. The URL contains a token.", {},
              {"sm toolkit codeartifact-index"}),
      toolkit_run(),
  };
}

}  // namespace muster::command
