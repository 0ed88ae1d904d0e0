#include "command/page.h"

namespace muster::command {
namespace {

Page train() {
  Page page = {
      .name = "train",
      .group = Group::container,
      .brief = "the entry point of a training container",
      .about =
          "The entry point of a training container: reads the job from /opt/ml "
          "(SAGEMAKER_BASE_DIR moves it), gathers its hosts, runs the script on them and "
          "reports how it ended. Every host starts it alike.",
      // SageMaker starts containers as `IMAGE train`: the word may stand there again.
      .operands = {{"train", "says nothing: SageMaker starts a container with this word", false, "",
                    "", true}},
      .flags = {{"--print-plan", "", "print what would run here and exit"},
                {"--port", "PORT",
                 "port of the roll call on the leader (MUSTER_ROLLCALL_PORT, 9730)"},
                {"--join-deadline", "SECONDS",
                 "how long to wait for the other hosts (MUSTER_JOIN_DEADLINE, 900)"},
                {"--heartbeat", "SECONDS", "time between heartbeats (MUSTER_HEARTBEAT, 1)"},
                {"--lost-after", "SECONDS",
                 "a host silent for so long is lost (MUSTER_LOST_AFTER, 5)"},
                {"--grace", "SECONDS",
                 "from SIGTERM to SIGKILL on a stop request (MUSTER_STOP_DEADLINE, 30)"},
                {"--failure-grace", "SECONDS",
                 "the same for the others after a failure (MUSTER_FAILURE_GRACE, 1)"}},
      .examples = {{"train", "in a container: run the job in /opt/ml"},
                   {"SAGEMAKER_BASE_DIR=/tmp/job train --print-plan"}},
      .notes = {"Called by the name `train`, muster is this command: sm train and train are one."},
      .exits = {{"0", "the job ended well"},
                {"1",
                 "it failed: output/failure says why; a framework's module ends with a code "
                 "of its own"},
                {"2", "what was given is wrong"},
                {"128 + N", "it was stopped by signal N"}},
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
          "Prints what a training script of the job in /opt/ml (SAGEMAKER_BASE_DIR moves it) "
          "finds in its environment: every SM_* variable, as sagemaker-training sets them. "
          "With --client no job's: the lines that make boto3, the AWS CLI and SageMaker's "
          "SDKs use a muster server, by the AWS_* variables that are set.",
      .flags =
          {{"--json", "", "one JSON object"},
           {"--shell", "", "lines that a POSIX shell reads"},
           {"--properties", "",
            "one JSON object: what sagemaker_training's Environment says of the job"},
           {"--to-env-vars", "", "one JSON object: its to_env_vars()"},
           {"--to-cmd-args", "", "a JSON list: its to_cmd_args(), the script's arguments"},
           {"--stdin", "",
            "standard input is {\"resource_config\": ..., \"input_data_config\": ..., "
            "\"hyperparameters\": ...}; each member that is there replaces its file"},
           {"--invocation", "",
            "what a log says before a program starts, with secrets masked; standard input is "
            "{\"variables\": {NAME: TEXT, ...}, \"command\": [WORD, ...]}"},
           {"--client", "", "what AWS's clients need to use a muster server"},
           {"--write", "FILE",
            "also write the config file of SageMaker's SDKs, and name it in the lines: without "
            "one they ask AWS itself for the name of their default bucket"},
           {"--bucket", "NAME", "the default bucket (sagemaker-REGION-000000000000)"},
           {"--notebook", "",
            "also write /opt/ml/metadata/resource-metadata.json, as SageMaker's notebook machines "
            "have it: get_execution_role() without a session finds its role there"}},
      .examples = {{"eval \"$(sm env --shell)\"", "the job's variables in this shell"},
                   {"eval \"$(sm env --client)\"", "for boto3 and the AWS CLI"},
                   {"eval \"$(sm env --client --write ~/muster-sagemaker.yaml)\"",
                    "for SageMaker's SDKs, too"}},
      .exits = {{"0", "printed"},
                {"1", "the job cannot be read, or a file cannot be written"},
                {"2", "what was given is wrong"}},
      .last_wins = true,
      .usage = {"[--json | --shell]", "--properties | --to-env-vars | --to-cmd-args [--stdin]",
                "--invocation", "--client [--write FILE] [--bucket NAME] [--notebook]"},
  };
}

const std::vector<Exit> toolkit_exits = {
    {"0", "done"}, {"1", "it failed: one line says why"}, {"2", "what was given is wrong"}};

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
      .brief = "run an entry point of the code folder",
      .about =
          "Runs an entry point of the code folder as the job's hyperparameters or these flags "
          "say.",
      .rest = Rest::behind_dashes,
      .rest_name = "ENTRY_POINT [ARGS]",
      .flags = {{"--runner", "RUNNER",
                 "process, mpi, smdataparallel, torch_distributed, deepspeed or pytorch_xla", "",
                 false, "process mpi smdataparallel torch_distributed deepspeed pytorch_xla"},
                {"--option", "NAME=VALUE", "an option of the runner, by its hyperparameter's name",
                 "", true},
                {"--python", "PATH", "interpreter for Python scripts"},
                {"--report", "FD", "an open descriptor that hears how it ended, as JSON"}},
      .examples = {{"sm toolkit run --runner mpi -- train.py --epochs 3"}},
      .exits = {{"N", "the program's exit code"},
                {"1", "the program could not be run"},
                {"2", "what was given is wrong"}},
      .last_wins = true,
  };
}

}  // namespace

std::vector<Page> pages_container() {
  return {
      train(),
      env(),
      toolkit("toolkit", "what the Python packages ask of muster",
              "What the Python packages sagemaker_training and sagemaker_containers ask muster to "
              "do.",
              {}, {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit(
          "toolkit fetch", "bring code to a folder",
          "Brings code to a folder: a folder, a tar.gz or s3://BUCKET/KEY of one. Does nothing "
          "if the folder is not empty.",
          {{"URI", "where the code is", true, "FILE"}, {"FOLDER", "where it goes", true, "DIR"}},
          {"sm toolkit fetch s3://bucket/code.tar.gz /opt/ml/code"}),
      toolkit("toolkit download", "fetch one object", "Fetches one object of S3.",
              {{"S3URL", "s3://BUCKET/KEY"}, {"FILE", "where it goes", true, "FILE"}},
              {"sm toolkit download s3://bucket/model.bin model.bin"}),
      toolkit("toolkit upload", "store one object", "Stores one object in S3.",
              {{"FILE", "what is stored", true, "FILE"}, {"S3URL", "s3://BUCKET/KEY"}},
              {"sm toolkit upload model.bin s3://bucket/model.bin"}),
      toolkit("toolkit sync", "upload what appears in output/intermediate",
              "Uploads what appears in output/intermediate to sagemaker_s3_output "
              "(SAGEMAKER_S3_OUTPUT) until standard input ends; says \"ready\" first.",
              {}, {"sm toolkit sync"}),
      toolkit("toolkit codeartifact-index", "print the package index of CA_REPOSITORY_ARN",
              "Prints the package index of CA_REPOSITORY_ARN. The index holds a token.", {},
              {"sm toolkit codeartifact-index"}),
      toolkit_run(),
  };
}

}  // namespace muster::command
