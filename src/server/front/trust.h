#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "image/own_image.h"
#include "server/front/server_main_config.h"

namespace muster::server {

/// The URL that clients and jobs use for the server that listens on `port`.
std::string url_of(const ServerConfig& config, std::uint16_t port);

/// The names of images that this server's registry has: by url_of(), by the loopback addresses that
/// it listens at, and as ECR's of its account and region. Pure.
image::OwnNames own_names(const ServerConfig& config, std::uint16_t port);

/// The machine's roots (SSL_CERT_FILE of `env`, or where distributions keep them) and those in
/// `ca_file`, if there is one, as one text in PEM. Error: that of `ca_file`.
Result<std::string> roots_with(const std::string& ca_file, const Env& env);

/// With TLS: checks that a client that trusts roots_with(`tls_ca`) accepts the certificate for the
/// host in url_of(). Error: `invalid_input`, naming the wrong key of the config.
Result<void> check_tls(const ServerConfig& config, const Env& env);

}  // namespace muster::server
