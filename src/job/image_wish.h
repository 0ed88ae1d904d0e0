#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace muster::job {

/// When an image is asked for at its registry.
enum class Pull {
  missing,  ///< If it is not on this machine.
  always,   ///< For each job: a tag may mean another image by now.
  never,
};

/// An image that a job wants, and how it may be brought. Pure.
struct ImageWish {
  std::string name{};    ///< Whole: "docker.io/team/box:v1", "docker.io/team/box@sha256:…".
  std::string digest{};  ///< What the name's tag meant when the job first began; empty: not known.
  Pull pull = Pull::missing;
  std::chrono::seconds pull_limit{3600};  ///< A pull that takes longer is ended.
  /// The registry, and what it redirects to, may have any address; else only such as are on the
  /// internet, not this machine's, its networks' or its cloud's.
  bool anywhere = false;
  /// A pull that leaves more than so many bytes of images here removes what was used least
  /// recently, never what a job uses; 0: as many as there are.
  std::int64_t kept_bytes_max = 0;
  std::string policy{};  ///< A policy.json that it has to satisfy, absolute; empty: none.
  /// The registry has to give it to this job's login, also where it is here already: what another's
  /// login brought is not had without it. Not where `pull` is never.
  bool private_to_login = false;
  std::string logins{};  ///< A file like ~/.docker/config.json, absolute; empty: no login.
};

}  // namespace muster::job
