#pragma once

#include <string_view>

namespace muster::web {

/// The web page's files, as web/ has them and `sm` carries them: each packed by gzip.
///
/// Pure: bytes of the program. Source: tools/pack_web.py, which packs them.
struct WebFile {
  std::string_view name;    ///< As in web/: "app/main.js"
  std::string_view type;    ///< For Content-Type.
  std::string_view packed;  ///< gzip
};

/// Null if web/ has no such file. "index.html" is what every view begins with.
const WebFile* find_web_file(std::string_view name);

/// 16 hex digits that change with any byte of any file. Files are served in a folder of this name,
/// so that a browser may keep them for good.
std::string_view web_edition();

}  // namespace muster::web
