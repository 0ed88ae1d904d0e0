#include "aws/api/field_table.h"

namespace muster::api {
namespace {

constexpr Treatment heeded = Treatment::heeded;
constexpr Treatment echoed = Treatment::echoed;
constexpr Treatment without_effect = Treatment::without_effect;
constexpr Treatment refused = Treatment::refused;

constexpr std::string_view kms = "objects are not encrypted";
constexpr std::string_view vpc =
    "subnets and security groups known to the server; if it knows none, the job's log says that "
    "VpcConfig has no effect";
constexpr std::string_view s3_only = "channels are read from S3 only";
constexpr std::string_view modes =
    "File; FastFile is treated as File, with a note in the job's log; Pipe is rejected";

constexpr FieldRow rows[] = {
    {"TrainingJobName HyperParameters", heeded},
    {"AlgorithmSpecification.TrainingImage", heeded,
     "an image listed in the config, or a name for a Python interpreter of this machine; others "
     "are rejected"},
    {"AlgorithmSpecification.AlgorithmName", refused, "built-in algorithms are not supported"},
    {"AlgorithmSpecification.TrainingInputMode", heeded, modes},
    {"AlgorithmSpecification.MetricDefinitions", heeded},
    {"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", echoed,
     "metrics are always stored as time series"},
    {"AlgorithmSpecification.ContainerEntrypoint AlgorithmSpecification.ContainerArguments",
     heeded},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode", echoed,
     "muster uses the server's own network route to the registry"},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAuthConfig", heeded,
     "an entry in jobs.credentials_providers of the config; others are rejected"},
    {"RoleArn", echoed, "permissions depend on access keys, not roles"},
    {"InputDataConfig.ChannelName InputDataConfig.DataSource.S3DataSource.S3Uri "
     "InputDataConfig.DataSource.S3DataSource.S3DataDistributionType "
     "InputDataConfig.DataSource.S3DataSource.InstanceGroupNames",
     heeded},
    {"InputDataConfig.DataSource.S3DataSource.S3DataType", heeded,
     "S3Prefix, ManifestFile; AugmentedManifestFile is rejected because it needs Pipe mode"},
    {"InputDataConfig.DataSource.S3DataSource.AttributeNames", refused,
     "for AugmentedManifestFile only"},
    {"InputDataConfig.DataSource.S3DataSource.ModelAccessConfig", without_effect,
     "no licence is required"},
    {"InputDataConfig.DataSource.S3DataSource.HubAccessConfig", without_effect,
     "hubs are not supported"},
    {"InputDataConfig.DataSource.FileSystemDataSource InputDataConfig.DataSource.DatasetSource",
     refused, s3_only},
    {"InputDataConfig.ContentType InputDataConfig.RecordWrapperType", heeded,
     "passed to the job; the data is not changed"},
    {"InputDataConfig.CompressionType", heeded, "Gzip: objects named *.gz are unpacked"},
    {"InputDataConfig.InputMode", heeded, modes},
    {"InputDataConfig.ShuffleConfig", without_effect, "files have no order to shuffle"},
    {"OutputDataConfig.KmsKeyId", without_effect, kms},
    {"OutputDataConfig.S3OutputPath OutputDataConfig.CompressionType", heeded},
    {"ResourceConfig.InstanceType ResourceConfig.InstanceCount ResourceConfig.InstanceGroups",
     heeded},
    {"ResourceConfig.VolumeSizeInGB", heeded,
     "GiB of disk space for each host, at most the machine's free space (default: 30)"},
    {"ResourceConfig.VolumeKmsKeyId", without_effect, "the machine's own disks are used"},
    {"ResourceConfig.KeepAlivePeriodInSeconds", without_effect,
     "hosts are removed when their job ends"},
    {"ResourceConfig.TrainingPlanArn", without_effect, "there are no reservations"},
    {"ResourceConfig.InstancePlacementConfig", without_effect,
     "all hosts run on the server's machine or cluster"},
    {"ResourceConfig.InstancePreferences", without_effect,
     "all hosts have the type in InstanceType"},
    {"ResourceConfig.SelectedInstanceType ResourceConfig.SelectedInstanceCount", without_effect,
     "all hosts have the type in InstanceType"},
    {"VpcConfig", heeded, vpc},
    {"StoppingCondition.MaxRuntimeInSeconds", heeded},
    {"StoppingCondition.MaxWaitTimeInSeconds", heeded,
     "limits waiting and running time together; requires EnableManagedSpotTraining and a value of "
     "at least MaxRuntimeInSeconds"},
    {"StoppingCondition.MaxPendingTimeInSeconds", without_effect,
     "a job waits in the queue until it starts or is stopped"},
    {"Tags", heeded},
    {"EnableNetworkIsolation", heeded, "hosts can reach only each other and the job's S3"},
    {"EnableInterContainerTrafficEncryption", heeded,
     "on one machine, traffic between hosts stays inside the kernel and is not encrypted, as the "
     "job's log says; on a Slurm cluster, the job fails at its start"},
    {"EnableManagedSpotTraining", without_effect, "there are no spot instances"},
    {"CheckpointConfig", heeded},
    {"DebugHookConfig", echoed, "Debugger is not supported; the SDKs send this field by default"},
    {"DebugRuleConfigurations", without_effect, "Debugger is not supported"},
    {"TensorBoardOutputConfig", without_effect,
     "write events to /opt/ml/output or to the checkpoint folder"},
    {"ExperimentConfig", without_effect, "there are no Experiments"},
    {"ProfilerConfig", echoed,
     "the profiler is not supported; the SDKs send this field by default"},
    {"ProfilerRuleConfigurations", without_effect, "the profiler is not supported"},
    {"Environment", heeded},
    {"RetryStrategy", heeded,
     "restarts after a Slurm node is lost (default: 2); a job on one machine is not restarted"},
    {"RemoteDebugConfig.EnableRemoteDebug", without_effect,
     "remote shells into hosts are not supported"},
    {"InfraCheckConfig.EnableInfraCheck", without_effect, "use sm doctor to check the machine"},
    {"SessionChainingConfig", without_effect, "each job has its own key"},
    {"ServerlessJobConfig", without_effect, "a job runs its image's program or its own code"},
    {"MlflowConfig", without_effect, "MLflow is not supported"},
    {"ModelPackageConfig", without_effect, "there are no model packages"},
};

}  // namespace

std::span<const FieldRow> create_training_job_rows() {
  return rows;
}

}  // namespace muster::api
