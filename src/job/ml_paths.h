#pragma once

namespace muster::job {

// Where a container finds its job. Source: SageMaker's documentation, "How Amazon SageMaker
// Provides Training Information".

inline constexpr const char* ml_path = "/opt/ml";
inline constexpr const char* code_path = "/opt/ml/code";
inline constexpr const char* input_path = "/opt/ml/input";
inline constexpr const char* checkpoints_path = "/opt/ml/checkpoints";
inline constexpr const char* model_path = "/opt/ml/model";
inline constexpr const char* output_path = "/opt/ml/output";

}  // namespace muster::job
