"""Names of sagemaker_containers in sagemaker_training."""
