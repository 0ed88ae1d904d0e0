"""`python -m muster.framework MODULE:FUNCTION`: what `train` runs for a framework's module.

It calls the function and, if that fails, writes the failure file. All else (the roll call, the
success file, intermediate output, ending the other hosts) is `train`'s. Exit code 0, or the
exception's errno, or 1.
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
    """Ends what the framework started by multiprocessing and left behind.

    A parameter server, which never ends by itself; the interpreter would wait for it at its exit.
    """
    multiprocessing = sys.modules.get("multiprocessing")
    for child in multiprocessing.active_children() if multiprocessing else ():
        child.terminate()


if __name__ == "__main__":
    from muster import binary

    # -m put the current folder here, whose files must not stand for modules. The reference's
    # `train` script has its own folder there, and PYTHONPATH shows it to the user's program.
    # It finds no arguments either.
    sys.path[0] = os.path.dirname(binary.program())
    words = sys.argv
    sys.argv = [os.path.join(sys.path[0], "train")]
    sys.exit(main(words))
