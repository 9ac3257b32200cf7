"""The relations between driver, GPU, CUDA, cuDNN, framework, Python and system: pure functions of table rows.

Each has a predicate, and a `Verdict` with its reason and its sources that is made of the same; none knows of a
request, so checks use them too. What the tables leave blank is `unknown`, never a refusal.
"""
