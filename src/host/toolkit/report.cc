#include "host/toolkit/report.h"

#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace muster::toolkit {

Result<void> forget_end(const std::string& base) {
  for (const char* mark : {"/output/failure", "/output/success", "/success"}) {
    const std::string path = base + mark;
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
      return fail_errno("cannot remove " + path);
  }
  return {};
}

Result<void> make_result_folders(const std::string& base) {
  TRY(make_folders(base + "/model"));
  return make_folders(base + "/output/data");
}

Result<void> report_success(const std::string& base) {
  TRY(make_folders(base + "/output"));
  TRY(write_file(base + "/output/success", ""));
  return write_file(base + "/success", "");
}

Result<void> report_failure(const std::string& base, const std::string& text) {
  const std::string path = base + "/output/failure";
  if (::access(path.c_str(), F_OK) == 0) return {};
  TRY(make_folders(base + "/output"));
  return write_file(path, text);
}

}  // namespace muster::toolkit
