"""`python -m muster.framework MODULE:FUNCTION`, which `train` runs for a framework's module.

It calls the function and, if that fails, writes the failure file. `train` does everything else:
the roll call, the success file, intermediate output, ending the other hosts. The exit code is 0,
the exception's errno, or 1.
"""

import os
import sys


def main(argv):
    if len(argv) != 2 or argv[1].count(":") != 1:
        sys.stderr.write("usage: python -m muster.framework MODULE:FUNCTION\n")
        return 2
    from sagemaker_training import environment, logging_config, trainer

    try:
        env = environment.Environment()
        trainer.run_framework(argv[1], env)
        return 0
    except Exception as error:
        code = trainer.report_failure(error)
        logging_config.get_logger().error("Encountered exit_code %s", code)
        return code
    finally:
        _end_children()


def _end_children():
    """Ends processes that the framework started with multiprocessing and did not end.

    For example a parameter server, which never exits; the interpreter would wait for it.
    """
    multiprocessing = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        child.terminate()


if __name__ == "__main__":
    from muster import binary

    # python -m puts the current folder here, but its files must not be imported as modules. The
    # `train` script of sagemaker-training has its own folder there, which the user's program sees
    # in PYTHONPATH. That script has no arguments either.
    sys.path[0] = os.path.dirname(binary.program())
    words = sys.argv
    sys.argv = [os.path.join(sys.path[0], "train")]
    sys.exit(main(words))
