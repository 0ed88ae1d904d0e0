"""Names of the elder package sagemaker_containers, for the younger one."""
