"""`python -m sagemaker_containers.cli.train`."""

from sagemaker_training.cli.train import main

if __name__ == "__main__":
    main()
