#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/fd.h"
#include "base/time.h"
#include "job/wire/usage.h"
#include "net/loop/tasks.h"
#include "os/devices/gpu_figures.h"
#include "os/supervise/programs.h"

namespace muster::devices {

/// Usage of this machine's GPUs, from the driver's tool, which runs as long as this object lives
/// (docs/decisions/0059-gpu-figures.md). Without that tool there are no figures.
class GpuMeter {
 public:
  /// `env`: finds the tool. `told`: a folder in which the driver maps GPUs to numbers,
  /// `/proc/driver/nvidia/gpus`; empty: GPUs have the tool's own numbers.
  GpuMeter(supervise::Programs& programs, Env env, const std::string& told);
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;
  ~GpuMeter();

  /// What each of these GPUs was used for since it was asked about before; of a silent one nothing
  /// but its number. Asked before the tool's next line, it tells the last one again.
  std::vector<job::GpuUse> of(const std::vector<int>& numbers);
  /// Somebody looks: for the next seconds, a second tool reports the GPUs' traffic.
  void look();

 private:
  struct Seen {
    std::int64_t percents = 0;  ///< Sum.
    std::int64_t count = 0;
    std::int64_t memory_bytes = 0;  ///< The most.
    GpuFigures last{};
    TimePoint time{};  ///< When `last` came.
    job::GpuTraffic traffic{};
    TimePoint traffic_time{};
  };
  /// A tool, as long as it runs.
  struct Tool {
    pid_t pid = 0;                               ///< 0: it does not run.
    bool has_reported = false;                   ///< In any line.
    std::function<bool(std::string_view)> take;  ///< False: the line says nothing.
  };
  loop::Task<> watch();
  loop::Task<> watch_traffic();
  loop::Task<> end_traffic();
  loop::Task<bool> follow(Args argv, Tool& tool);
  loop::Task<> read_lines(Fd out, Tool& tool);
  bool take(std::string_view line);
  bool take_traffic(std::string_view line);
  void end(const Tool& tool);

  supervise::Programs& programs_;
  Env env_;
  std::map<std::string, int> places_;  ///< Numbers by places on the bus.
  std::map<int, int> numbers_;         ///< By the tool's own.
  std::map<int, Seen> seen_;           ///< By number.
  Tool figures_;
  Tool traffic_;
  TrafficReader traffic_reader_;
  bool watches_traffic_ = false;
  bool is_traffic_over_ = false;  ///< Nobody looks any more.
  TimePoint looked_until_{};
  loop::Tasks tasks_;
};

}  // namespace muster::devices
