"""sagemaker_containers.beta.framework is what images use."""
