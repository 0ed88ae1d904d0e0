#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::packing {

/// Where a member of an archive goes.
///
/// Pure: names only.
/// Source: sagemaker-training 5.1.4, files.py: names are made to fit, not refused.
struct Placed {
  std::vector<std::string> parts;  ///< Below the code folder; no "", "." or "..". Maybe empty.
  bool changed = false;            ///< The name was absolute, or had ".." or a backslash.
};

/// "../../etc/passwd", "/etc/passwd" and "etc\\passwd" all become etc/passwd.
Placed placed(std::string_view name);

/// The permissions that a file gets: no setuid, setgid, sticky, nor write for others; its owner may
/// read and write; who may not execute as owner may not at all. Source: Python's
/// tarfile.data_filter.
unsigned placed_mode(unsigned mode);

/// 'name' for one line of text: control bytes and invalid UTF-8 are escaped as \xNN, the middle of
/// long names is left out.
std::string shown(std::string_view name);

}  // namespace muster::packing
