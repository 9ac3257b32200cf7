"""Steps that others measured (arXiv 1608.07249 and its sources): no lower bound may lie above one."""

MEASURED = [
    ("GeForce GTX TITAN X", "resnet-50", 16, 0.153),
    ("GeForce GTX 1080", "resnet-50", 16, 0.14982),
    ("GeForce GTX 1080 Ti", "resnet-50", 16, 0.10121),
    ("TITAN X (Pascal)", "resnet-50", 16, 0.10358),
    ("GeForce GTX TITAN X", "alexnet-s", 16, 0.024),
    ("GeForce GTX TITAN X", "fcn-5", 64, 0.016),
]
