#include "platform/places/growth.h"

#include <sys/inotify.h>

namespace muster::places {

Result<std::unique_ptr<Growth>> Growth::open(loop::Loop& loop, const std::string& folder) {
  std::unique_ptr<loop::Notices> notices = TRY(loop::Notices::open(loop));
  TRY(notices->add(folder, IN_CREATE | IN_MOVED_TO));
  return std::unique_ptr<Growth>(new Growth(std::move(notices)));
}

void Growth::watch(const std::string& file) {
  if (files_.contains(file)) return;
  if (notices_->add(file, IN_MODIFY)) files_.insert(file);
}

}  // namespace muster::places
