#pragma once

namespace muster::job {

/// What a script that raised an error leaves under `python -m mpi4py`, for tests.
inline constexpr const char* under_mpi4py =
    "epoch 1\n"
    "Traceback (most recent call last):\n"
    "  File \"<frozen runpy>\", line 198, in _run_module_as_main\n"
    "  File \"<frozen runpy>\", line 88, in _run_code\n"
    "  File \"/venv/lib/python3.11/site-packages/mpi4py/__main__.py\", line 7, in <module>\n"
    "    main()\n"
    "  File \"/venv/lib/python3.11/site-packages/mpi4py/run.py\", line 230, in main\n"
    "    run_command_line(args)\n"
    "    ^^^^^^^^^^^^^^^^^^^^^^\n"
    "  File \"/usr/lib/python3.9/runpy.py\", line 197, in run_path\n"
    "    return _run_code(code)\n"
    "  File \"train.py\", line 3, in <module>\n"
    "    raise ValueError(\"bad batch\")\n"
    "ValueError: bad batch\n";

}  // namespace muster::job
