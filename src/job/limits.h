#pragma once

#include <chrono>
#include <cstdint>

namespace muster::job {

// What a job may ask for. Pure.

inline constexpr int hosts_max = 250;
inline constexpr int processes_per_host_max = 1024;  ///< More is a slip of the finger.
inline constexpr int ranks_max = hosts_max * processes_per_host_max;

/// Further attempts of a job that lost its machines: RetryStrategy's MaximumRetryAttempts.
inline constexpr int retries_max = 30;
inline constexpr int retries_default = 2;
/// Standby nodes, each of which can replace a lost one.
inline constexpr int spares_max = 16;
/// Source: StoppingCondition of the CreateTrainingJob API, MaxRuntimeInSeconds.
/// The shortest time without any sign of life after which a job may be reported as hanging.
inline constexpr std::chrono::seconds hang_after_min{10};
inline constexpr std::chrono::seconds training_time_max{28 * 86400};
/// What the API can say: MaxWaitTimeInSeconds has 32 bits.
inline constexpr std::chrono::seconds wait_time_max{2147483647};

/// Between SIGTERM and SIGKILL of a stop request.
inline constexpr std::chrono::seconds stop_grace_default{30};
inline constexpr std::chrono::seconds stop_grace_max{86400};

/// The least memory limit of a host: a lower value is probably a typing error.
inline constexpr std::int64_t memory_bytes_min = 8 << 20;
/// The least processor time that the kernel can allot: 1 ms of each 100 ms.
inline constexpr std::int64_t cpu_millis_min = 10;
inline constexpr std::int64_t cpu_millis_max = 1000000;
/// 0 means no limit.
constexpr bool is_cpu_limit(std::int64_t millis) {
  return millis == 0 || (millis >= cpu_millis_min && millis <= cpu_millis_max);
}
inline constexpr int gpus_max = 1024;  ///< One host's.
/// The most that ext4 takes with blocks of 4 KiB, and EBS for a volume.
inline constexpr int volume_gib_max = 16384;
inline constexpr int volume_gib_default = 30;  ///< SageMaker's.
inline constexpr std::int64_t shm_bytes_min = 65536;

}  // namespace muster::job
