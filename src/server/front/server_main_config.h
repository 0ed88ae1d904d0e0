#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "aws/api/realm.h"
#include "aws/s3wire/s3_host.h"
#include "base/command.h"
#include "base/json.h"
#include "base/port.h"
#include "command/line.h"
#include "job/vpc/networks.h"
#include "platform/places/slurm_cluster.h"
#include "server/jobs/outside_s3.h"
#include "server/operations/keys.h"

namespace muster::server {

/// The settings of `sm server`, from its flags and its config file. Flags take precedence. Source:
/// docs/protocols/server-config.md.
struct ServerConfig {
  std::string host = "127.0.0.1";  ///< Numeric.
  std::uint16_t port = server_port;
  std::string data;  ///< Absolute, or as the user wrote it.
  std::string certificate;
  std::string key;
  std::string ca;    ///< PEM: the CA of `certificate`, if this machine does not trust it.
  std::string name;  ///< Name or address that clients use for the server; empty: `host`.
  bool insecure_http = false;
  std::string s3_domain;
  api::Realm realm;
  std::vector<ConfigKey> keys;
  std::optional<jobs::OutsideS3> s3;          ///< None: the server stores the objects.
  std::optional<places::SlurmCluster> slurm;  ///< Jobs run there; none: on this machine.
  bool web_page = true;                       ///< Served below /ui/.
  std::vector<std::string> page_names;        ///< Host names that browsers may use, besides `name`.
  vpc::Networks networks;  ///< Networks that jobs may name, in addition to those of stacks.
  std::optional<std::uint64_t> disk_free_bytes;  ///< See free_min_of().
  std::string access_log;          ///< A file with a line for each request; empty: none.
  std::string metrics_token_file;  ///< Private; its text gives access to /metrics; empty: none.
  Json jobs = Json::object();      ///< "jobs" of the file, unchanged, for the runner.
};

struct ServerFlags {
  std::string listen;
  std::string data;
  std::string config;
  bool check = false;
  bool operations = false;
  bool insecure_http = false;
};

/// The reason why the server does not start, if it does not: help was requested, or the command
/// line is invalid.
std::optional<command::Stop> parse_flags(const Args& args, ServerFlags& flags);

/// Applies the file's text (empty: none) and the flags. Error: `invalid_input`, in one line that
/// names the key or flag and the expected value: an unknown key, an address that is not loopback
/// without TLS or --insecure-http, and so on.
Result<ServerConfig> config_of(const ServerFlags& flags, const std::string& file, const Env& env);

/// Makes file paths absolute, because stewards and readers of the output have other working
/// folders.
void make_absolute(ServerConfig& config);
/// Replaces files that the server opens by the real ones where links are on the way, as
/// walk_given() follows them. For a server without root, before it enters its user namespace, in
/// which root's links look like other users'. Errors: as walk_given().
Result<void> resolve_links(ServerConfig& config);
/// Files that grant control of the server, and must be hidden from hosts, which see this machine's
/// files.
std::vector<std::string> secret_files(const ServerConfig& config);

/// The host names of the server's S3: from the config, and the machine's own.
s3wire::HostNames s3_names(const ServerConfig& config);

}  // namespace muster::server
