"""In the image: starts a Horovod script as ranks of one MPI world over the job's hosts.

Each host runs it; muster makes one launch of them. Hyperparameters of the job name the script in
/opt/ml/code, the ranks on each host and options of mpirun's; all others are the script's.
"""

import argparse

import sagemaker_containers.operators as sm


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horovod_train_script", default="train_hvd.py")
    parser.add_argument("--num_of_processes_per_host", type=int, default=1)
    parser.add_argument("--custom_mpi_options", default="")
    args, others = parser.parse_known_args()
    sm.mpirun(
        args.horovod_train_script,
        others,
        process_per_hosts=args.num_of_processes_per_host,
        custom_mpi_options=args.custom_mpi_options,
    )


if __name__ == "__main__":
    main()
