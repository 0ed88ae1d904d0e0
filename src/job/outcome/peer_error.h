#pragma once

#include <string_view>

namespace muster::job {

/// Whom an error speaks of; what comes first is the likelier cause.
enum class Blame {
  own,   ///< The program itself.
  peer,  ///< The other end of a connection or of a collective operation is gone or silent.
  reports_another  ///< A process that it started failed: it says no more than that.
};

/// Reads one error, "Name: text", or a program's last line. Families of errors count, not
/// sentences: the class of the exception, or what is said to have happened to whom. Pure; cases:
/// peer_error_test.cc.
Blame blame_of(std::string_view error);

}  // namespace muster::job
