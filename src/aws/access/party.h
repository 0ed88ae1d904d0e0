#pragma once

#include <string>

#include "aws/access/keyring.h"

namespace muster::access {

/// The party, as party_of(), of a user's key. No job has such a name.
inline std::string party_of_key(const std::string& id) {
  return "key/" + id;
}

/// The job, or the user's key, whose connections have a limit together.
inline std::string party_of(const AccessKey& key) {
  return key.owner.empty() ? party_of_key(key.counted()) : key.owner;
}

}  // namespace muster::access
