"""A service that looked for GPUs before the driver was there."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.references import threads
from envkit.checks.programs.told import told_by_program

told_by_program(
    Fault(
        "service-before-driver",
        "A service started before the driver was ready, and found no GPU",
        impact="After each boot it runs on the CPU, or not at all, until it is restarted; the driver itself is fine.",
        remedy="Such a service looks for GPUs only once, when it starts. The first command helps until the next boot. "
        "To make the service wait, run the second command, and enter these lines in the editor: [Service] on one line, "
        "then ExecStartPre=/bin/sh -c 'until nvidia-smi -L; do sleep 1; done' and TimeoutStartSec=120. In both "
        "commands, replace SERVICE with its name, such as ollama or docker. To undo it: sudo systemctl revert SERVICE.",
        steps=(fixed("sudo systemctl restart SERVICE"), fixed("sudo systemctl edit SERVICE")),
    ),
    fix="Restart the service, and let its unit wait until nvidia-smi lists the GPUs.",
    doc="""A service that uses GPUs starts after the driver has created its devices.

    Many services look for GPUs once, when they start. At boot, they can be faster than the driver's modules.
    """,
    rank=38,
    explained_by=("cuda-broken-after-suspend", "driver-module-not-loaded", "uvm-module-not-loaded"),
    references=threads("ollama/ollama#7669"),
)
