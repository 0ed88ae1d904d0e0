"""Images use sagemaker_containers.beta.framework."""
