"""`python -m sagemaker_training.cli.train`."""

from sagemaker_training import trainer


def main():
    """Runs the job."""
    trainer.train()


if __name__ == "__main__":
    main()
