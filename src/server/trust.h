#pragma once

#include <string>

#include "base/command.h"
#include "base/result.h"
#include "server/server_main_config.h"

namespace muster::server {

/// The URL by which clients and jobs call the server that listens at `port`.
std::string url_of(const ServerConfig& config, std::uint16_t port);

/// What those who call the server may trust: the machine's roots (SSL_CERT_FILE of `env`, or where
/// distributions keep them) and the config's `tls_ca`, as one text in PEM. Error: that of a file.
Result<std::string> roots_for(const ServerConfig& config, const Env& env);

/// With TLS: whether those who trust roots_for() take the certificate for the host in url_of().
/// Error: `invalid_input`, naming the key of the config that is wrong.
Result<void> check_tls(const ServerConfig& config, const Env& env);

}  // namespace muster::server
