#include "cli/apps.h"

#include <algorithm>

#include "base/terminal.h"
#include "cli/exit_codes.h"

namespace muster::cli {
namespace {

constexpr const char* fit_examples =
    "examples:\n"
    "  sm fit train.py\n"
    "      run train.py of this folder on one host\n"
    "  sm fit train.py --source-dir code --hosts 3 --processes-per-host 2 --output out\n"
    "      run it under MPI: 6 processes on 3 hosts\n"
    "  sm fit train.py --input train=data/train --hyperparameter epochs=2 --env DEBUG=1\n"
    "      data appears as /opt/ml/input/data/train, the script gets --epochs 2\n"
    "  sm fit train.py -- --resume 'last run'\n"
    "      what follows -- is given to the script as it is, behind the hyperparameters\n"
    "\n"
    "The script finds the job as on SageMaker: SM_* variables, files under /opt/ml. What it\n"
    "writes to /opt/ml/model and /opt/ml/output comes to the output folder.\n"
    "Ctrl-C stops the job, a second one kills it. Exit codes: 0 completed, 1 failed,\n"
    "2 wrong input, 3 muster or the machine failed, 4 timed out, 130 or 143 stopped.";

CLI::Option* one_by_one(CLI::Option* option, const char* type) {
  return option->allow_extra_args(false)->type_name(type);
}

/// The option that `word` names, if it takes a value.
bool takes_value(const CLI::App& app, const std::string& word) {
  const std::vector<const CLI::Option*> options = app.get_options();
  return std::any_of(options.begin(), options.end(), [&](const CLI::Option* option) {
    return option->get_items_expected_max() > 0 && option->check_name(word);
  });
}

/// A value that begins with '-' would be read as another option: it is joined to its own. Reversed,
/// as CLI11 takes it.
std::vector<std::string> prepared(const CLI::App& app, const Args& args) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < args.size(); ++i) {
    words.push_back(args[i]);
    if (args[i].compare(0, 2, "--") != 0 || !takes_value(app, args[i]) || i + 1 == args.size())
      continue;
    ++i;
    if (args[i].compare(0, 1, "-") == 0)
      words.back() += "=" + args[i];
    else
      words.push_back(args[i]);
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

void add_fit(CLI::App& app, FitWords& words) {
  app.description("Runs a training job on this machine, each host in a container of its own.");
  app.footer(fit_examples);
  app.add_option("SCRIPT", words.script, "the program to train with, a path in the source folder")
      ->required()
      ->type_name("FILE");
  const auto text = [&](const char* name, std::string& into, const char* help, const char* type) {
    app.add_option(name, into, help)->type_name(type);
  };
  const auto texts = [&](const char* name, std::vector<std::string>& into, const char* help,
                         const char* type) { one_by_one(app.add_option(name, into, help), type); };
  text("--source-dir", words.source_folder,
       "folder with the code (default: the script's own); never written to", "DIR");
  text("--hosts", words.hosts, "number of hosts, 1 to 250 (default 1)", "N");
  text("--processes-per-host", words.processes_per_host,
       "MPI processes on each host; more than one in all runs the script under MPI", "N");
  app.add_flag("--mpi", words.mpi, "run under MPI also with one process");
  text("--custom-mpi-options", words.custom_mpi_options, "more options for mpirun, in one text",
       "TEXT");
  texts("--input", words.inputs, "an input channel: a folder, seen below /opt/ml/input/data",
        "NAME=DIR");
  texts("--hyperparameter", words.hyperparameters,
        "given to the script as --NAME VALUE; JSON values keep their type, all else is text",
        "NAME=VALUE");
  texts("--env", words.environment, "a variable of the hosts' environment", "NAME=VALUE");
  text("--output", words.output,
       "new or empty folder for model/, output/ and, on failure, failure/ (default: one\n"
       "named as the job, made only if the job leaves files)",
       "DIR");
  text("--name", words.name, "the job's name (default: the script's name and the time)", "NAME");
  text("--python", words.python, "interpreter for Python scripts (default: python3 of PATH)",
       "PATH");
  text("--timeout", words.timeout, "stop the job after so many seconds (default a day)", "SECONDS");
  text("--grace", words.grace, "from a stop request to the kill (default 30)", "SECONDS");
  app.add_flag("--keep", words.keep,
               "leave the job's folder (journals, logs, settings) for inspection; sm clean --all\n"
               "removes it");
  app.add_flag("--raw", words.raw, raw_help);
  app.add_flag("--json", words.json, "one JSON object a line instead of text");
  app.add_flag("--verbose", words.verbose, "also tell what muster itself does");
  app.add_flag("--print-plan", words.print_plan, "print the job's specification and exit");
}

void add_clean(CLI::App& app, CleanOptions& options) {
  app.description("Removes what killed jobs left on this machine; living jobs are not touched.");
  app.footer(
      "examples:\n"
      "  sm clean\n"
      "  sm clean --all\n"
      "      also folders of jobs that ran with --keep");
  app.add_flag("--all", options.all, "also what `sm fit --keep` kept");
  app.add_flag("--json", options.json, "print one JSON object");
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  app.description("Says what this machine lacks for running jobs, and how to install it.");
  app.footer(
      "examples:\n"
      "  sm doctor\n"
      "Exit codes: 0 all that jobs need is there, 3 something is missing.");
  app.add_flag("--json", options.json, "print one JSON object");
}

void add_completion(CLI::App& app, CompletionOptions& options) {
  app.description("Prints the completion script of a shell.");
  app.footer(
      "examples:\n"
      "  source <(sm completion bash)\n"
      "  sm completion zsh > ~/.zfunc/_sm\n"
      "  sm completion fish > ~/.config/fish/completions/sm.fish");
  app.add_option("SHELL", options.shell, "bash, zsh or fish")->required()->type_name("SHELL");
}

CommandTree::CommandTree() : root("muster gathers machines into one training job", "sm") {
  add_fit(*root.add_subcommand("fit", "run a training job on this machine"), fit);
  add_doctor(*root.add_subcommand("doctor", "say what this machine lacks"), doctor);
  add_clean(*root.add_subcommand("clean", "remove what killed jobs left behind"), clean);
  add_completion(*root.add_subcommand("completion", "print a shell's completion script"),
                 completion);
  add_submit(*root.add_subcommand("submit", "give a server a training job"), submit);
  add_jobs(*root.add_subcommand("jobs", "list a server's training jobs"), jobs);
  add_describe(*root.add_subcommand("describe", "tell all about a job of a server"), describe);
  add_logs(*root.add_subcommand("logs", "print or follow the log of a job of a server"), logs);
  add_stop(*root.add_subcommand("stop", "stop a job of a server"), stop);
  // Of other rooms: names only, for completion.
  const auto add_named = [this](const char* name, const char* help,
                                std::vector<const char*> flags) {
    CLI::App* const app = root.add_subcommand(name, help);
    for (const char* flag : flags) app->add_flag(flag, ignored, "");
  };
  add_named("server", "serve training jobs and S3 to AWS's clients",
            {"--listen", "--data", "--config", "--check", "--insecure-http"});
  add_named("key", "make, list and delete a server's access keys",
            {"--data", "--config", "--json"});
  add_named("env", "print the training environment", {"--json", "--shell", "--client"});
  add_named("train", "the entry point of a training container", {"--print-plan"});
  const auto add_operator = [&](const char* name, std::vector<const char*> flags) {
    flags.push_back("--print-plan");
    add_named(name, "run a distributed program over all hosts", std::move(flags));
  };
  add_operator("mpirun", {"--process_per_hosts", "--num_processes", "--custom_mpi_options"});
  add_operator("torchrun", {"--nproc-per-node", "--launcher"});
  add_operator("tf", {"--num-workers", "--num-parameter-servers", "--chief", "--evaluator"});
  add_operator("mxnet", {"--num-servers", "--num-workers"});
  add_operator("run", {});
  root.add_subcommand("version", "print the version");
  root.add_flag("--version", ignored, "print the version");
}

std::optional<Stop> parse(CLI::App& app, const Args& args) {
  app.get_formatter()->column_width(34);
  try {
    app.parse(prepared(app, args));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Stop{exit_success, app.help()};
  } catch (const CLI::ParseError& error) {
    return wrong_line(app, error.what());
  }
}

Stop wrong_line(const CLI::App& app, const std::string& text) {
  return {exit_usage, app.get_name() + ": " + visible_line(text) + "\n" + app.get_name() +
                          " --help tells more\n"};
}

}  // namespace muster::cli
