#include "command/page.h"

namespace muster::command {
namespace {

const Flag key_data{"--data", "DIR", "the server's data folder (default: ~/.local/share/muster)"};
const Flag key_config{"--config", "FILE",
                      "the server's config file; required if this file sets the data folder"};

std::vector<Exit> key_exits() {
  return {
      {"0", "success"},
      {"2", "invalid flag, key not found, or the last key cannot be deleted without --force"},
      {"3", "the key store cannot be read or written, or the running server cannot be notified"}};
}

Page key() {
  return {
      .name = "key",
      .group = Group::server,
      .brief = "create, list and delete a server's access keys",
      .about =
          "Creates, lists and deletes access keys for sm server. Also creates keys for jobs that "
          "you start by hand on several hosts.",
      .examples = {{"sm key create --comment \"the lab's notebook\"",
                    "create a key and print it as shell commands; the secret is shown only once"},
                   {"sm key list", "list the keys without their secrets"},
                   {"sm key delete AKIA2TGJ5EXAMPLE",
                    "delete a key, which the server then rejects"}},
      .notes = {"These commands change the keys of the sm server that uses the same data folder, "
                "whether it is running or not. A running server applies changes immediately. Every "
                "key has full access."},
      .exits = key_exits(),
  };
}

Page server() {
  return {
      .name = "server",
      .group = Group::server,
      .brief = "run a server for training jobs and S3",
      .about = "Serves the SageMaker training-job API, S3 and logs on one port.",
      .flags = {{"--listen", "ADDRESS:PORT", "address to listen on (default: 127.0.0.1:7700)"},
                {"--data", "DIR", "folder for all data (default: ~/.local/share/muster)"},
                {"--config", "FILE", "config file (JSON); see docs/users/configuration.md"},
                {"--check", "", "check the config and exit"},
                {"--operations", "", "list supported and ignored API calls and fields, and exit"},
                {"--insecure-http", "",
                 "allow listening without TLS on an address that other machines can reach"}},
      .examples =
          {{"sm server",
            "listen on http://127.0.0.1:7700, run jobs on this machine and keep data in "
            "~/.local/share/muster"},
           {"sm server --listen 10.0.0.5:7700 --config muster.json",
            "also serve other machines; the config sets the TLS certificate and its private key"},
           {"sm server --config muster.json --check", "only check the config"}},
      .notes = {"When the server starts for the first time, it creates a key and prints shell "
                "commands that configure clients."},
      .exits = {{"0", "stopped by SIGTERM or SIGINT; with --check: the config is valid"},
                {"2", "invalid flag or config"},
                {"3",
                 "the machine lacks a requirement, e.g. root access; the port is in use; or "
                 "another server uses the data folder"}},
  };
}

}  // namespace

std::vector<Page> pages_server() {
  return {
      server(),
      key(),
      {.name = "key create",
       .group = Group::server,
       .brief = "create a key and print it once",
       .about = "Creates an access key for sm server and prints it. The secret is not shown again.",
       .flags = {key_data,
                 key_config,
                 {"--comment", "TEXT",
                  "comment about the key, e.g. its purpose, shown by sm key list"},
                 {"--json", "", "print the key as one JSON object"}},
       .examples = {{"sm key create --comment \"the lab's notebook\"",
                     "create a key and print it as shell commands"},
                    {"sm key create > k && . ./k", "create a key and use it in this shell"}},
       .exits = key_exits()},
      {.name = "key list",
       .group = Group::server,
       .brief = "list the keys, without their secrets",
       .about = "Lists the access keys for sm server, without their secrets.",
       .flags =
           {key_data, key_config, utc_shown_flag, {"--json", "", "print one JSON object per line"}},
       .examples = {{"sm key list"}},
       .exits = key_exits()},
      {.name = "key job",
       .group = Group::server,
       .brief = "print a new key for a job on several hosts",
       .about = "Prints a new key for a job: 64 random hex digits. All hosts in the job need the "
                "same key.",
       .examples = {{"sm key job >job.key", "save the key in a file that only you can read"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py"}},
       .exits = {{"0", "success"}, {"2", "usage error"}, {"3", "the output could not be written"}}},
      {.name = "key delete",
       .group = Group::server,
       .brief = "delete a key",
       .about =
           "Deletes an access key of sm server. The server then rejects requests that use the key.",
       .operands = {{"KEY_ID", "key ID, as shown by sm key list"}},
       .flags = {key_data,
                 key_config,
                 {"--force", "", "delete the key even if it is the last one"}},
       .examples = {{"sm key delete AKIA2TGJ5EXAMPLE"}},
       .exits = key_exits()},
  };
}

}  // namespace muster::command
