#include "api/field_table.h"

namespace muster::api {
namespace {

constexpr Treatment heeded = Treatment::heeded;
constexpr Treatment echoed = Treatment::echoed;
constexpr Treatment without_effect = Treatment::without_effect;
constexpr Treatment refused = Treatment::refused;

constexpr std::string_view kms = "objects are stored as they are";
constexpr std::string_view vpc =
    "subnets and groups that the server knows; where it knows none the job's log says that they "
    "have "
    "no effect";
constexpr std::string_view s3_only = "channels come from S3";
constexpr std::string_view modes =
    "File; FastFile is read as File, and the job's log says so; Pipe is refused";

constexpr FieldRow rows[] = {
    {"TrainingJobName HyperParameters", heeded},
    {"AlgorithmSpecification.TrainingImage", heeded,
     "an image that the config lists, or which Python of this machine runs the job; others are "
     "refused"},
    {"AlgorithmSpecification.AlgorithmName", refused, "there are no algorithms by name"},
    {"AlgorithmSpecification.TrainingInputMode", heeded, modes},
    {"AlgorithmSpecification.MetricDefinitions", heeded},
    {"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", echoed,
     "metrics are always kept as series"},
    {"AlgorithmSpecification.ContainerEntrypoint AlgorithmSpecification.ContainerArguments",
     heeded},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode", echoed,
     "registries are reached as the server reaches them"},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAuthConfig", heeded,
     "an entry of the config's jobs.credentials_providers; others are refused"},
    {"RoleArn", echoed, "keys say who may do what, not roles"},
    {"InputDataConfig.ChannelName InputDataConfig.DataSource.S3DataSource.S3Uri "
     "InputDataConfig.DataSource.S3DataSource.S3DataDistributionType "
     "InputDataConfig.DataSource.S3DataSource.InstanceGroupNames",
     heeded},
    {"InputDataConfig.DataSource.S3DataSource.S3DataType", heeded,
     "S3Prefix, ManifestFile; AugmentedManifestFile is refused, since it needs Pipe mode"},
    {"InputDataConfig.DataSource.S3DataSource.AttributeNames", refused,
     "for AugmentedManifestFile only"},
    {"InputDataConfig.DataSource.S3DataSource.ModelAccessConfig", without_effect,
     "nobody asks for a licence"},
    {"InputDataConfig.DataSource.S3DataSource.HubAccessConfig", without_effect, "there is no hub"},
    {"InputDataConfig.DataSource.FileSystemDataSource InputDataConfig.DataSource.DatasetSource",
     refused, s3_only},
    {"InputDataConfig.ContentType InputDataConfig.RecordWrapperType", heeded,
     "told to the job; the data stay as they are"},
    {"InputDataConfig.CompressionType", heeded, "Gzip: objects named *.gz are unpacked"},
    {"InputDataConfig.InputMode", heeded, modes},
    {"InputDataConfig.ShuffleConfig", without_effect, "files have no order to shuffle"},
    {"OutputDataConfig.KmsKeyId", without_effect, kms},
    {"OutputDataConfig.S3OutputPath OutputDataConfig.CompressionType", heeded},
    {"ResourceConfig.InstanceType ResourceConfig.InstanceCount ResourceConfig.InstanceGroups",
     heeded},
    {"ResourceConfig.VolumeSizeInGB", heeded,
     "GiB of the machine's disk for each host, at most what it has free; 30 where it is missing"},
    {"ResourceConfig.VolumeKmsKeyId", without_effect, "disks are as the machine has them"},
    {"ResourceConfig.KeepAlivePeriodInSeconds", without_effect,
     "no host is kept when its job has ended"},
    {"ResourceConfig.TrainingPlanArn", without_effect, "nothing is reserved"},
    {"ResourceConfig.InstancePlacementConfig", without_effect, "hosts are where the server is"},
    {"ResourceConfig.InstancePreferences", without_effect, "hosts are of InstanceType"},
    {"ResourceConfig.SelectedInstanceType ResourceConfig.SelectedInstanceCount", without_effect,
     "hosts are of InstanceType"},
    {"VpcConfig", heeded, vpc},
    {"StoppingCondition.MaxRuntimeInSeconds", heeded},
    {"StoppingCondition.MaxWaitTimeInSeconds", heeded,
     "for its wait and its run together; only with EnableManagedSpotTraining, and not below "
     "MaxRuntimeInSeconds"},
    {"StoppingCondition.MaxPendingTimeInSeconds", without_effect,
     "a job waits for its turn until it is stopped"},
    {"Tags", heeded},
    {"EnableNetworkIsolation", heeded, "hosts reach each other and the job's S3 alone"},
    {"EnableInterContainerTrafficEncryption", heeded,
     "WireGuard of the kernel, ESP or wireguard-go, as the job's log says; without any the job "
     "fails at its start"},
    {"EnableManagedSpotTraining", without_effect, "hosts are neither bought nor taken away"},
    {"CheckpointConfig", heeded},
    {"DebugHookConfig", echoed, "there is no Debugger; the SDKs send it unasked"},
    {"DebugRuleConfigurations", without_effect, "there is no Debugger"},
    {"TensorBoardOutputConfig", without_effect,
     "write events to /opt/ml/output or the checkpoints"},
    {"ExperimentConfig", without_effect, "there are no Experiments"},
    {"ProfilerConfig", echoed, "there is no profiler; the SDKs send it unasked"},
    {"ProfilerRuleConfigurations", without_effect, "there is no profiler"},
    {"Environment", heeded},
    {"RetryStrategy", heeded,
     "further attempts after nodes of a Slurm cluster were lost, 2 where it is missing; a job of "
     "one machine runs once"},
    {"RemoteDebugConfig.EnableRemoteDebug", without_effect, "no shell leads into a host"},
    {"InfraCheckConfig.EnableInfraCheck", without_effect, "sm doctor looks at the machine"},
    {"SessionChainingConfig", without_effect, "a job has a key of its own"},
    {"ServerlessJobConfig", without_effect, "a job runs what its image or its code starts"},
    {"MlflowConfig", without_effect, "there is no MLflow server"},
    {"ModelPackageConfig", without_effect, "there are no model packages"},
};

}  // namespace

std::span<const FieldRow> create_training_job_rows() {
  return rows;
}

}  // namespace muster::api
