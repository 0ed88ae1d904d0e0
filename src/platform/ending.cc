#include "platform/ending.h"

namespace muster::platform {

void Ending::success() {
  if (heard_ == Heard::nothing)
    heard_ = Heard::success;
  else if (heard_ == Heard::request)
    heard_ = Heard::success_and_request;
}

bool Ending::failure(bool by_request) {
  if (failed()) return false;
  if (!by_request)
    heard_ = Heard::failure;
  else
    heard_ = heard_ == Heard::success ? Heard::success_and_request : Heard::request;
  return true;
}

void Ending::stop() {
  if (goes_on()) stopped_ = Stopped::on_request;
}

void Ending::stopped_outside() {
  const bool open = heard_ == Heard::nothing || heard_ == Heard::request;
  if (open && stopped_ == Stopped::no) stopped_ = Stopped::on_request;
}

void Ending::time_is_up() {
  if (goes_on()) stopped_ = Stopped::time_limit;
}

void Ending::wait_is_up() {
  if (goes_on()) stopped_ = Stopped::wait_limit;
}

void Ending::ended_by_limit() {
  const bool by_request = heard_ == Heard::request || heard_ == Heard::success_and_request;
  const bool open = stopped_ == Stopped::no || stopped_ == Stopped::on_request;
  if (goes_on() || (by_request && open)) stopped_ = Stopped::time_limit;
}

}  // namespace muster::platform
