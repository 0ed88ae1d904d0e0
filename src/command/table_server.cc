#include "command/page.h"

namespace muster::command {
namespace {

const Flag key_data{"--data", "DIR", "the server's data folder"};
const Flag key_config{"--config", "FILE", "the server's config, which may name it"};

std::vector<Exit> key_exits() {
  return {
      {"0", "done"},
      {"2",
       "what was given is wrong: a flag, a key that there is not, the last key without --force"},
      {"3", "the store cannot be read or written, or the server that runs cannot be told"}};
}

Page key() {
  return {
      .name = "key",
      .group = Group::server,
      .brief = "make, list and delete a server's access keys",
      .about =
          "Makes, lists and deletes the access keys of sm server; makes the keys of jobs that are "
          "gathered by hand.",
      .examples = {{"sm key create --comment \"the lab's notebook\"",
                    "make a key, and print it, this once, as lines for a shell"},
                   {"sm key list", "whose keys there are; no secrets"},
                   {"sm key delete AKIA2TGJ5EXAMPLE", "from now on the server refuses it"}},
      .notes = {"For the sm server that works on the same data folder, whether it runs or not: one "
                "that runs knows at once. A key may do everything."},
      .exits = key_exits(),
  };
}

Page server() {
  return {
      .name = "server",
      .group = Group::server,
      .brief = "serve training jobs and S3 to AWS's clients",
      .about = "Serves SageMaker's training jobs, S3 and logs on one port.",
      .flags = {{"--listen", "ADDRESS:PORT", "where it listens (default 127.0.0.1:7700)"},
                {"--data", "DIR",
                 "the folder that holds everything (default: ~/.local/share/muster)"},
                {"--config", "FILE", "a JSON file: docs/users/configuration.md"},
                {"--check", "", "check the config and end"},
                {"--operations", "", "list the calls and fields that are heeded or not, and end"},
                {"--insecure-http", "", "allow an address that others reach, without TLS"}},
      .examples = {{"sm server",
                    "serve this machine: http://127.0.0.1:7700, data in ~/.local/share/muster"},
                   {"sm server --listen 10.0.0.5:7700 --config muster.json",
                    "serve others too: the config names a certificate and its key"},
                   {"sm server --config muster.json --check",
                    "only say whether the config is right"}},
      .notes =
          {"The first start makes a key and prints the lines that make clients use the server."},
      .exits = {{"0", "SIGTERM or SIGINT ended it; --check: the config is fine"},
                {"2", "a flag or the config is wrong"},
                {"3",
                 "the machine lacks something: root, the port is taken, another server has the "
                 "folder"}},
  };
}

}  // namespace

std::vector<Page> pages_server() {
  return {
      server(),
      key(),
      {.name = "key create",
       .group = Group::server,
       .brief = "make a key and print it, once",
       .about = "Makes an access key of sm server and prints it, this once.",
       .flags = {key_data,
                 key_config,
                 {"--comment", "TEXT", "what it is for: sm key list shows it"},
                 {"--json", "", "print it as a JSON object"}},
       .examples = {{"sm key create --comment \"the lab's notebook\"",
                     "make a key, and print it as lines for a shell"},
                    {"sm key create > k && . ./k", "make a key, and use it in this shell"}},
       .exits = key_exits()},
      {.name = "key list",
       .group = Group::server,
       .brief = "list the keys, without their secrets",
       .about = "Lists the access keys of sm server, without their secrets.",
       .flags = {key_data, key_config, {"--json", "", "one JSON object a line"}},
       .examples = {{"sm key list"}},
       .exits = key_exits()},
      {.name = "key job",
       .group = Group::server,
       .brief = "print a new key for a job of several hosts",
       .about = "Prints a new key of a job: 64 random hex digits, which all hosts of the job need.",
       .examples = {{"sm key job >job.key", "the file becomes one that only you may read"},
                    {"sm mpirun --hosts node1,node2 --key-file job.key -n 4 python train.py"}},
       .exits = {{"0", "done"}, {"2", "what was given is wrong"}, {"3", "it cannot be written"}}},
      {.name = "key delete",
       .group = Group::server,
       .brief = "delete a key",
       .about = "Deletes an access key of sm server, which refuses it from now on.",
       .operands = {{"KEY_ID", "as sm key list shows it"}},
       .flags = {key_data, key_config, {"--force", "", "the last key too"}},
       .examples = {{"sm key delete AKIA2TGJ5EXAMPLE"}},
       .exits = key_exits()},
  };
}

}  // namespace muster::command
