#include "command/page.h"

namespace muster::command {
namespace {

const Flag key_data{"--data", "DIR", "the server's data folder"};
const Flag key_config{"--config", "FILE", "the server's config, which may set the data folder"};

std::vector<Exit> key_exits() {
  return {{"0", "success"},
          {"2", "invalid flag, key not found, or the last key without --force"},
          {"3", "the store cannot be read or written, or the running server cannot be notified"}};
}

Page key() {
  return {
      .name = "key",
      .group = Group::server,
      .brief = "create, list and delete a server's access keys",
      .about =
          "Creates, lists and deletes access keys of sm server. Also creates keys for jobs that "
          "are started by hand on several hosts.",
      .examples = {{"sm key create --comment \"the lab's notebook\"",
                    "create a key and print it as shell commands; it is shown only once"},
                   {"sm key list", "list the keys without their secrets"},
                   {"sm key delete AKIA2TGJ5EXAMPLE", "the server rejects the key from now on"}},
      .notes = {"These commands are for the sm server with the same data folder, running or not. A "
                "running server applies changes at once. Every key has full access."},
      .exits = key_exits(),
  };
}

Page server() {
  return {
      .name = "server",
      .group = Group::server,
      .brief = "serve training jobs and S3 to AWS clients",
      .about = "Serves SageMaker's training-job API, S3 and logs on one port.",
      .flags = {{"--listen", "ADDRESS:PORT", "address to listen on (default 127.0.0.1:7700)"},
                {"--data", "DIR", "folder for all data (default: ~/.local/share/muster)"},
                {"--config", "FILE", "config file in JSON; see docs/users/configuration.md"},
                {"--check", "", "check the config and exit"},
                {"--operations", "",
                 "list the supported and ignored API calls and fields, and exit"},
                {"--insecure-http", "",
                 "allow listening without TLS on an address that other machines can reach"}},
      .examples =
          {{"sm server",
            "serve this machine at http://127.0.0.1:7700, with data in ~/.local/share/muster"},
           {"sm server --listen 10.0.0.5:7700 --config muster.json",
            "serve other machines, too; the config names a certificate and its key"},
           {"sm server --config muster.json --check", "only check the config"}},
      .notes = {"The first start creates a key and prints shell commands that configure clients "
                "for the server."},
      .exits = {{"0", "ended by SIGTERM or SIGINT; with --check: the config is valid"},
                {"2", "invalid flag or config"},
                {"3",
                 "the machine lacks something, e.g. root; the port is in use; or another server "
                 "uses the data folder"}},
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
       .about = "Creates an access key of sm server and prints it. The secret is not shown again.",
       .flags = {key_data,
                 key_config,
                 {"--comment", "TEXT", "purpose of the key, shown by sm key list"},
                 {"--json", "", "print it as a JSON object"}},
       .examples = {{"sm key create --comment \"the lab's notebook\"",
                     "create a key and print it as shell commands"},
                    {"sm key create > k && . ./k", "create a key and use it in this shell"}},
       .exits = key_exits()},
      {.name = "key list",
       .group = Group::server,
       .brief = "list the keys, without their secrets",
       .about = "Lists the access keys of sm server, without their secrets.",
       .flags = {key_data, key_config, {"--json", "", "print one JSON object per line"}},
       .examples = {{"sm key list"}},
       .exits = key_exits()},
      {.name = "key job",
       .group = Group::server,
       .brief = "print a new key for a job of several hosts",
       .about = "Prints a new key for a job: 64 random hex digits. All hosts of the job need the "
                "same key.",
       .examples = {{"sm key job >job.key", "only you can read the file"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py"}},
       .exits = {{"0", "success"}, {"2", "usage error"}, {"3", "the output could not be written"}}},
      {.name = "key delete",
       .group = Group::server,
       .brief = "delete a key",
       .about = "Deletes an access key of sm server. The server rejects the key from now on.",
       .operands = {{"KEY_ID", "the key's ID, as shown by sm key list"}},
       .flags = {key_data, key_config, {"--force", "", "delete even the last key"}},
       .examples = {{"sm key delete AKIA2TGJ5EXAMPLE"}},
       .exits = key_exits()},
  };
}

}  // namespace muster::command
