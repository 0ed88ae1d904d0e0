#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace muster::job {

/// When the registry is asked for an image.
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
  /// If true, the registry, and what it redirects to, may have any address. Otherwise only
  /// addresses on the internet are allowed: none of this machine, its networks or its cloud.
  bool anywhere = false;
  /// A pull that leaves more than this many bytes of images here removes the least recently used
  /// ones, but never one that a job uses. 0: no limit.
  std::int64_t kept_bytes_max = 0;
  std::string policy{};  ///< A policy.json that it has to satisfy, absolute; empty: none.
  /// The registry must allow this job's login to pull the image even if it is already here, because
  /// another job's login may have pulled it. Not checked if `pull` is never.
  bool private_to_login = false;
  std::string logins{};  ///< A file like ~/.docker/config.json, absolute; empty: no login.
};

}  // namespace muster::job
