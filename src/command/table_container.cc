#include "command/page.h"

namespace muster::command {
namespace {

Page train() {
  Page page = {
      .name = "train",
      .group = Group::container,
      .brief = "run the training job in this container, as the container's entry point",
      .about =
          "Runs the training job in this container, as the container's entry point. It reads the "
          "job from /opt/ml (or SAGEMAKER_BASE_DIR), connects the hosts, runs the script on them, "
          "and reports the result. Run it on every host.",
      // SageMaker starts containers as `IMAGE train`: the word may stand there again.
      .operands = {{"train",
                    "ignored; accepted because SageMaker starts containers with this argument",
                    false, "", "", true}},
      .flags =
          {{"--print-plan", "", "print what would run on this host, and exit"},
           {"--port", "PORT",
            "leader's port, to which the other hosts connect (env MUSTER_ROLLCALL_PORT; "
            "default: 9730)"},
           {"--join-deadline", "SECONDS",
            "seconds to wait for the other hosts (env MUSTER_JOIN_DEADLINE; default: 900)"},
           {"--heartbeat", "SECONDS",
            "seconds between heartbeats (env MUSTER_HEARTBEAT; default: 1)"},
           {"--lost-after", "SECONDS",
            "seconds without a heartbeat after which a host is considered lost (env "
            "MUSTER_LOST_AFTER; default: 5)"},
           {"--grace", "SECONDS",
            "seconds from SIGTERM to SIGKILL when the job is stopped (env MUSTER_STOP_DEADLINE; "
            "default: 30)"},
           {"--failure-grace", "SECONDS",
            "seconds from SIGTERM to SIGKILL when another process has failed (env "
            "MUSTER_FAILURE_GRACE; default: 1)"}},
      .examples = {{"train", "in a container: run the job in /opt/ml"},
                   {"SAGEMAKER_BASE_DIR=/tmp/job train --print-plan"}},
      .notes = {"If sm is started under the name train, it runs this command: train is equivalent "
                "to sm train."},
      .exits = {{"0", "the job succeeded"},
                {"1",
                 "the job failed; output/failure contains the reason (framework modules use other "
                 "exit codes)"},
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
          "Prints the environment in which the job in /opt/ml (or SAGEMAKER_BASE_DIR) runs its "
          "training script: all SM_* variables, with the values that sagemaker-training sets. "
          "--client requires no job: it prints shell commands that make boto3, the AWS CLI and the "
          "SageMaker SDKs use the muster server specified by the AWS_* variables.",
      .flags =
          {{"--json", "", "print one JSON object"},
           {"--shell", "", "print commands for a POSIX shell"},
           {"--properties", "",
            "print one JSON object with the properties of sagemaker_training's Environment"},
           {"--to-env-vars", "",
            "print the SM_* variables as a JSON object (the result of Environment.to_env_vars())"},
           {"--to-cmd-args", "",
            "print the script's arguments as a JSON list (the result of "
            "Environment.to_cmd_args())"},
           {"--stdin", "",
            "read resource_config, input_data_config and hyperparameters from standard input"},
           {"--invocation", "",
            "read a command from standard input and print the log lines that announce its start, "
            "with secrets masked"},
           {"--client", "", "print the settings that AWS clients need to use a muster server"},
           {"--write", "FILE",
            "also write the config file that the SageMaker SDKs need, and export its path"},
           {"--bucket", "NAME",
            "name of the default bucket (default: sagemaker-REGION-000000000000)"},
           {"--notebook", "",
            "also write /opt/ml/metadata/resource-metadata.json, so that get_execution_role() "
            "works without a session"}},
      .examples = {{"eval \"$(sm env --shell)\"", "set the job's variables in this shell"},
                   {"eval \"$(sm env --client)\"", "use the server with boto3 and the AWS CLI"},
                   {"eval \"$(sm env --client --write ~/muster-sagemaker.yaml)\"",
                    "use the server with the SageMaker SDKs as well"}},
      .notes = {"--stdin reads {\"resource_config\": ..., \"input_data_config\": ..., "
                "\"hyperparameters\": ...}. Each member that is present replaces the corresponding "
                "file of the job.",
                "--invocation reads {\"variables\": {NAME: TEXT, ...}, \"command\": [WORD, ...]}.",
                "Without the file from --write, the SageMaker SDKs ask AWS for the name of their "
                "default bucket. With --notebook, calls of get_execution_role() without a session "
                "read the role from resource-metadata.json, as on SageMaker notebook instances."},
      .exits = {{"0", "success"},
                {"1", "the job's files cannot be read, or an output file cannot be written"},
                {"2", "usage error"}},
      .last_wins = true,
      .usage = {"[--json | --shell]", "--properties | --to-env-vars | --to-cmd-args [--stdin]",
                "--invocation", "--client [--write FILE] [--bucket NAME] [--notebook]"},
  };
}

const std::vector<Exit> toolkit_exits = {
    {"0", "success"},
    {"1", "failed; one line on standard error shows the reason"},
    {"2", "usage error"}};

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
          "by the flags below.",
      .rest = Rest::behind_dashes,
      .rest_name = "ENTRY_POINT [ARGS]",
      .flags =
          {{"--runner", "RUNNER",
            "launcher: process, mpi, smdataparallel, torch_distributed, deepspeed or pytorch_xla",
            "", false, "process mpi smdataparallel torch_distributed deepspeed pytorch_xla"},
           {"--option", "NAME=VALUE",
            "set a launcher option; NAME is the hyperparameter that configures this option", "",
            true},
           {"--python", "PATH", "Python interpreter for scripts"},
           {"--report", "FD", "write the result as JSON to this open file descriptor"}},
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
      toolkit("toolkit", "helper commands of the Python packages",
              "Runs the helper commands that the Python packages sagemaker_training and "
              "sagemaker_containers use.",
              {}, {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit("toolkit fetch", "copy or download code to a folder",
              "Copies code to a folder. The source is a folder, a local .tar.gz file, or a .tar.gz "
              "file in S3 (s3://BUCKET/KEY). Does nothing if the target folder is not empty.",
              {{"URI", "source of the code", true, "FILE"}, {"FOLDER", "target path", true, "DIR"}},
              {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit("toolkit download", "download one object", "Downloads one object from S3.",
              {{"S3URL", "s3://BUCKET/KEY"}, {"FILE", "target path", true, "FILE"}},
              {"sm toolkit download s3://bucket/model.bin model.bin"}),
      toolkit("toolkit upload", "upload one object", "Uploads one object to S3.",
              {{"FILE", "file to upload", true, "FILE"}, {"S3URL", "s3://BUCKET/KEY"}},
              {"sm toolkit upload model.bin s3://bucket/model.bin"}),
      toolkit("toolkit sync", "upload new files in output/intermediate",
              "Uploads new files in output/intermediate to S3 until standard input is closed. The "
              "hyperparameter sagemaker_s3_output (env SAGEMAKER_S3_OUTPUT) sets the S3 location. "
              "Prints \"ready\" before the first upload.",
              {}, {"sm toolkit sync"}),
      toolkit("toolkit codeartifact-index",
              "print the package index URL of a CodeArtifact repository",
              "Prints the package index URL of the CodeArtifact repository in CA_REPOSITORY_ARN. "
              "The URL contains a token.",
              {}, {"sm toolkit codeartifact-index"}),
      toolkit_run(),
  };
}

}  // namespace muster::command
