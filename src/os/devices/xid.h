#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Pure: what NVIDIA's driver says of its cards in the kernel's log.

namespace muster::devices {

/// An error of a card. Its number, place and pid are the driver's; all else in the line may be a
/// job's own text (the name of the process) and means nothing here.
struct Xid {
  int number = 0;
  std::string bus;       ///< bus_name() of its place, without the function: ":0b:00".
  std::string action;    ///< Xid 154: what the driver asks for, "GPU Reset Required"; else empty.
  std::int64_t pid = 0;  ///< The process, as the machine counts; 0: the line names none.

  bool operator==(const Xid&) const = default;
};

/// In a record of /dev/kmsg: "4,1234,50589950,-;NVRM: Xid (PCI:0000:00:06): 31, pid=596, …". None
/// for any other record, and for what programs wrote there: their facility is never the kernel's.
/// Source: Documentation/ABI/testing/dev-kmsg.
std::optional<Xid> xid_in(std::string_view record);

/// The record of /dev/kmsg that a line of `journalctl -k -o json` stands for: with its facility,
/// priority and text. None for another line.
/// Source: systemd.journal-fields(7).
std::optional<std::string> record_in_journal(std::string_view line);

/// Says whose fault an Xid is. Later values outweigh earlier ones.
enum class XidBlame {
  nobody,   ///< Nothing has failed by it, or nothing is known of the number.
  program,  ///< The program did what it may not.
  memory,   ///< The card's memory failed under this program alone; the card remains usable.
  machine,  ///< The card has to be reset, or worse.
};

/// By the immediate action in NVIDIA's catalogue of Xids; 154 carries the action in its text.
/// Source: docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, read 2026-11-27.
XidBlame blame_of(const Xid& xid);

/// "GPU 3: illegal memory access by the program (Xid 31)", "GPU 3 fell off the bus (Xid 79): not
/// your code".
std::string describe(int gpu, const Xid& xid);

/// What happened to a machine's cards since it started, each event once, the worst first, at most
/// sixteen: "GPU 3 fell off the bus (Xid 79), 2 times". `places`: the cards' numbers by bus_name().
std::vector<std::string> history_of(const std::vector<Xid>& xids,
                                    const std::map<std::string, int>& places);

}  // namespace muster::devices
