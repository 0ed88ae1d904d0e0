#include "engine/local/register.h"

namespace muster::local {

Result<Fd> lock_register(const std::string& register_file) {
  const std::string path = register_file + ".lock";
  TRY(make_folders(path.substr(0, path.rfind('/')), 0700));
  return wait_for_lock(path);
}

}  // namespace muster::local
